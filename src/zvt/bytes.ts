/** Why bytes cannot be decoded as a ZVT message, or a value cannot be encoded into one. */
type ZvtCodecErrorCode =
  | "length-mismatch"
  | "too-long"
  | "truncated"
  | "length-digit"
  | "tag"
  | "tlv-length"
  | "tlv-depth"
  | "not-decimal"
  | "duplicate-field"
  | "missing-part"
  | "trailing-bytes"
  | "value";

/** The only error that the codec throws. */
export class ZvtCodecError extends Error {
  override readonly name = "ZvtCodecError";
  readonly code: ZvtCodecErrorCode;

  constructor(code: ZvtCodecErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export function fromHex(hex: string): Uint8Array {
  if (hex.length % 2 !== 0 || /[^0-9a-fA-F]/.test(hex)) {
    throw new ZvtCodecError("value", `not an even number of hexadecimal digits: ${hex.length}`);
  }
  return viewOf(Buffer.from(hex, "hex"));
}

/** Returns the bytes of a buffer as they lie in Node's pool; memory of its own would cost more. */
function viewOf({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

export function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return viewOf(Buffer.concat(parts));
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Returns a number in BCD (two decimal digits a byte), as for amounts (docs/zvt.md 4.2). */
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
 * Returns a number with the high byte first, in `bytes` or in as many bytes as it needs. ZVT writes
 * every number like this except the extended length of an APDU (docs/zvt.md 4.3).
 */
export function encodeBigEndian(value: number, bytes = bytesOf(value)): Uint8Array {
  if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** (8 * bytes)) {
    throw new ZvtCodecError("value", `${value} does not fit into ${bytes} bytes`);
  }
  return fromHex(value.toString(16).padStart(2 * bytes, "0"));
}

function bytesOf(value: number): number {
  return Math.ceil(value.toString(16).length / 2);
}

export function decodeBigEndian(bytes: Uint8Array): number {
  let value = 0;
  for (const byte of bytes) value = value * 256 + byte;
  return value;
}

/** Reads bytes one after another. Throws {@link ZvtCodecError} "truncated" if too few are left. */
export class ByteReader {
  readonly bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
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
    const byte = this.peek();
    if (byte === undefined) this.take(1); // throws, because no byte is left
    this.#at += 1;
    return byte as number;
  }

  take(count: number): Uint8Array {
    if (count > this.left) {
      const text = `${count} bytes expected, ${this.left} are there`;
      throw new ZvtCodecError("truncated", text);
    }
    const taken = this.bytes.subarray(this.#at, this.#at + count);
    this.#at += count;
    return taken;
  }

  rest(): Uint8Array {
    return this.take(this.left);
  }
}
