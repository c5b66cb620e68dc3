import { ConcertCodecError } from "./errors.ts";

/** Returns bytes as text, one character for each byte (Latin-1; docs/concert.md 4.1). */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

export function bytesOf(text: string): Uint8Array {
  const at = text.search(/[\u0100-\uffff]/);
  if (at < 0) return new Uint8Array(Buffer.from(text, "latin1"));
  throw new ConcertCodecError("value", `character ${at + 1} of the text is not Latin-1`);
}
