import { ZvtCodecError } from "./errors.ts";

const none = new Uint8Array(0);

export function fromHex(hex: string): Uint8Array {
  if (hex.length % 2 !== 0 || /[^0-9a-fA-F]/.test(hex)) {
    throw new ZvtCodecError("value", `not an even number of hexadecimal digits: ${hex.length}`);
  }
  return new Uint8Array(Buffer.from(hex, "hex"));
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

export function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 0) return none;
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** A number written as BCD, as in amounts (docs/zvt.md 4.2). */
export function encodeBcd(value: number, bytes: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new ZvtCodecError("value", `${value} is not a whole number from 0`);
  }
  const digits = String(value);
  if (digits.length > 2 * bytes) {
    throw new ZvtCodecError("value", `${value} does not fit into ${2 * bytes} digits`);
  }
  return fromHex(digits.padStart(2 * bytes, "0"));
}

export function decodeBcd(bytes: Uint8Array): number {
  const digits = toHex(bytes);
  if (/[a-f]/.test(digits)) {
    throw new ZvtCodecError("not-decimal", `${digits.replace(/\d/g, "0")} has a nibble above 9`);
  }
  return Number(digits);
}

/**
 * High byte first, as all numbers of ZVT except the extended length of an APDU (docs/zvt.md 4.3).
 */
export function encodeBigEndian(value: number, bytes: number): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** (8 * bytes)) {
    throw new ZvtCodecError("value", `${value} does not fit into ${bytes} bytes`);
  }
  return fromHex(value.toString(16).padStart(2 * bytes, "0"));
}

export function decodeBigEndian(bytes: Uint8Array): number {
  let value = 0;
  for (let i = 0; i < bytes.length; i++) value = value * 256 + (bytes[i] as number);
  return value;
}

/** Reads bytes in order; taking more than there are is an error of the message. */
export class ByteReader {
  readonly bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#at = 0;
  }

  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.bytes.length - this.#at;
  }

  peek(ahead = 0): number | undefined {
    return this.bytes[this.#at + ahead];
  }

  byte(): number {
    const byte = this.bytes[this.#at];
    if (byte === undefined) throw truncated(1, 0);
    this.#at += 1;
    return byte;
  }

  take(count: number): Uint8Array {
    if (count > this.left) throw truncated(count, this.left);
    const taken = this.bytes.subarray(this.#at, this.#at + count);
    this.#at += count;
    return taken;
  }

  rest(): Uint8Array {
    return this.take(this.left);
  }
}

function truncated(expected: number, left: number): ZvtCodecError {
  return new ZvtCodecError("truncated", `${expected} bytes expected, ${left} are there`);
}
