/** Why bytes cannot be decoded as a Concert message, or a value cannot be encoded into one. */
export type ConcertFaultCode =
  /** The check byte (LRC) of the frame does not match the body of the frame. */
  | "lrc"
  /** A body or a tag's value is not as long as the layout or the length field says. */
  | "length"
  /** The bytes end before the end of the frame. */
  | "truncated"
  /** The bytes do not begin with STX, as a frame must. */
  | "no-stx"
  /** A control byte other than ETX stands inside a frame. */
  | "no-etx"
  /** The field of the amount has characters other than digits. */
  | "amount"
  /** The status is no digit. */
  | "status"
  /** Control bytes have a parity bit, so terminal and register use different line settings. */
  | "parity"
  /** A field of a fixed layout has an invalid value (amount and status have codes of their own). */
  | "field"
  /** A tag with the length 000. */
  | "zero-length"
  /** The bytes end in the middle of a tagged message. */
  | "incomplete"
  | "duplicate-tag"
  /** The bytes do not begin with a tag. */
  | "tag"
  /** The message has the tag of the version, but not as its first tag. */
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
