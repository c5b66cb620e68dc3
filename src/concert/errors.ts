/** Faults of bytes that claim to be Concert, or of values that shall become bytes. */
export type ConcertFaultCode =
  /** The check byte is not that of the frame. */
  | "lrc"
  /** A body, or the value of a tag, has another length than its layout or its own number says. */
  | "length"
  /** The bytes end before the frame does. */
  | "truncated"
  /** A frame does not begin with STX. */
  | "no-stx"
  /** A control byte stands where a frame may only go on or end with ETX. */
  | "no-etx"
  /** The amount is no number. */
  | "amount"
  /** The status is no digit. */
  | "status"
  /** Control bytes came with a parity bit: both sides have another line setting. */
  | "parity"
  /** Another field of a fixed layout does not hold what belongs there. */
  | "field"
  /** A tag with the length 000. */
  | "zero-length"
  /** A tagged message goes on after the bytes that are there. */
  | "incomplete"
  | "duplicate-tag"
  /** The bytes do not begin with a tag. */
  | "tag"
  /** The version is there, but not at the beginning. */
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
