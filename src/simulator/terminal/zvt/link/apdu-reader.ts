/**
 * Puts the messages of a TCP connection together again, however the stream is cut
 * (docs/zvt.md 3.2): two control bytes, the length (one byte, or FF low high), data.
 */
export class ApduReader {
  #pending = new Uint8Array(0);

  /** Bytes of a message that is not complete. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  push(chunk: Uint8Array): Uint8Array[] {
    const joined = new Uint8Array(this.#pending.length + chunk.length);
    joined.set(this.#pending);
    joined.set(chunk, this.#pending.length);
    const apdus: Uint8Array[] = [];
    let start = 0;
    for (;;) {
      const length = apduLength(joined, start);
      if (length === undefined || start + length > joined.length) break;
      apdus.push(joined.slice(start, start + length));
      start += length;
    }
    this.#pending = joined.slice(start);
    return apdus;
  }
}

/** Bytes of the whole message that begins at `start`; undefined while its length is not known. */
function apduLength(bytes: Uint8Array, start: number): number | undefined {
  const short = bytes[start + 2];
  if (short === undefined) return undefined;
  if (short !== 0xff) return 3 + short;
  const low = bytes[start + 3];
  const high = bytes[start + 4];
  // Low byte first (docs/zvt.md 4.1).
  return low === undefined || high === undefined ? undefined : 5 + low + (high << 8);
}

/** Whether the length field of a message agrees with its number of bytes. */
export function hasTrueLength(apdu: Uint8Array): boolean {
  return apduLength(apdu, 0) === apdu.length;
}
