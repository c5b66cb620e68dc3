/** Faults of bytes that claim to be ZVT, or of values that shall become bytes. */
type ZvtCodecErrorCode =
  /** The length of the APDU is not the number of its data bytes. */
  | "length-mismatch"
  /** More data than a length can express. */
  | "too-long"
  /** A field or a tag needs more bytes than there are. */
  | "truncated"
  /** A length digit of LLVAR or LLLVAR is not F0..F9. */
  | "length-digit"
  /** A tag is longer than four bytes. */
  | "tag"
  /** A TLV length of a form that does not exist. */
  | "tlv-length"
  /** Containers in containers, deeper than anything real. */
  | "tlv-depth"
  /** A decimal value with a nibble above 9. */
  | "not-decimal"
  /** One field twice, with different contents. */
  | "duplicate-field"
  /** A positional part is missing. */
  | "missing-part"
  /** Bytes after the end of a message. */
  | "trailing-bytes"
  /** A value that cannot be encoded. */
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
