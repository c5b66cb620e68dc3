import type { OnReadOpts } from "node:net";

/** The size of the buffer; nearly every message of a program or a terminal fits. */
const READ_BYTES_MAX = 8 * 1024;

/**
 * Returns the socket option `onread`, with which the socket reads into one buffer and passes copies
 * to `take` instead of emitting "data". That saves 64 KiB and a stream's work for each piece.
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
