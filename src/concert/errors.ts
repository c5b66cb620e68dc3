/** Why bytes cannot be decoded as a Concert message, or a value cannot be encoded into one. */
export type ConcertFaultCode =
  /** The check byte (LRC) of the frame does not match the body of the frame. */
  | "lrc"
  /** A body or a tag's value is not as long as the layout or the length field says. */
  | "length"
  /** The bytes end before the end of the frame. */
  | "truncated"
  | "no-stx"
  /** A control byte other than ETX stands inside a frame. */
  | "no-etx"
  /** The amount has characters other than digits. */
  | "amount"
  | "status"
  /** Control bytes have a parity bit, so terminal and register use different line settings. */
  | "parity"
  /** A field other than amount and status has an invalid value. */
  | "field"
  | "zero-length"
  /** The bytes end in the middle of a tagged message. */
  | "incomplete"
  | "duplicate-tag"
  /** The bytes do not begin with a tag. */
  | "tag"
  /** The version (tag CZ) is not the first tag of the message. */
  | "order"
  /** A value that cannot be encoded, because its field or tag does not allow it. */
  | "value";

/** The only error that the codec throws. */
export class ConcertCodecError extends Error {
  override readonly name = "ConcertCodecError";
  readonly code: ConcertFaultCode;

  constructor(code: ConcertFaultCode, message: string) {
    super(message);
    this.code = code;
  }
}
