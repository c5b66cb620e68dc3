/** Why bytes cannot be decoded as a Concert message, or a value cannot be encoded into one. */
export type ConcertFaultCode =
  /** The check byte (LRC) does not belong to the body of the frame. */
  | "lrc"
  /** A body or a tag's value is not as long as the layout or the length field says. */
  | "length"
  /** The bytes end before the end of the frame. */
  | "truncated"
  /** The bytes do not begin with STX, as a frame must. */
  | "no-stx"
  /** A control byte other than ETX stands inside a frame. */
  | "no-etx"
  /** The amount is no number. */
  | "amount"
  /** The status is no digit. */
  | "status"
  /** Control bytes came with a parity bit: terminal and register have different line settings. */
  | "parity"
  /** A field of a fixed layout, other than amount and status, has an invalid value. */
  | "field"
  /** A tag with the length 000. */
  | "zero-length"
  /** The bytes end in the middle of a tagged message. */
  | "incomplete"
  | "duplicate-tag"
  /** The bytes do not begin with a tag. */
  | "tag"
  /** The version tag is present, but is not the first tag. */
  | "order"
  /** A value that cannot be encoded. */
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
