import { ConcertCodecError } from "./errors.ts";

/** Returns bytes as text, one character for each byte (Latin-1; docs/concert.md 4.1). */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

export function bytesOf(text: string): Uint8Array {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0xff) {
      throw new ConcertCodecError("value", `character ${i + 1} of the text is not Latin-1`);
    }
  }
  return new Uint8Array(Buffer.from(text, "latin1"));
}
