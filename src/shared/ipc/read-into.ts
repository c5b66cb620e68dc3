import type { OnReadOpts } from "node:net";

/** A message between two programs, or of a terminal, nearly always comes whole. */
const READ_BYTES_MAX = 8 * 1024;

/**
 * Option of a socket: its bytes come out of one buffer, as copies, without an allocation of 64 KiB
 * and a stream's bookkeeping for each. Such a socket emits no "data", and cannot be piped.
 */
export function readInto(take: (bytes: Buffer) => void): OnReadOpts {
  return {
    buffer: new Uint8Array(READ_BYTES_MAX),
    callback(count, buffer) {
      take(Buffer.from(buffer.subarray(0, count)));
      return true;
    },
  };
}
