type UpdateFaultCode =
  /** The address is neither https nor an http address of this machine. */
  | "address"
  /** No answer came: unknown name, no connection, a broken line, an untrusted certificate. */
  | "unreachable"
  /** The server answered with an HTTP status that does not mean success. */
  | "http-status"
  | "redirected"
  /** Too few bytes came in a window of time, or the whole file took too long. */
  | "too-slow"
  /** More bytes came than the caller or the signed metadata allow. */
  | "too-long"
  /** The file on the server is shorter than the signed metadata say. */
  | "too-short"
  | "wrong-hash"
  /** A signature, version or hash of the metadata is wrong. */
  | "metadata-refused"
  | "metadata-expired"
  /** There is no newer version at the time of the clock, which is in the past. */
  | "clock-past"
  /** No metadata are stored, and there is no trusted root from which to start. */
  | "no-root"
  /** The signed metadata do not name the requested target. */
  | "no-target"
  /** An archive is damaged, or has entries that no delivery has. */
  | "archive"
  /** The disk has no room for another version and the copies of the databases. */
  | "no-room";

/** The refusal of an update, with a message for the operator. */
export class UpdateError extends Error {
  override readonly name = "UpdateError";
  readonly code: UpdateFaultCode;
  /** The HTTP status of the fault `http-status`. */
  readonly status: number | undefined;

  constructor(
    code: UpdateFaultCode,
    message: string,
    more: ErrorOptions & { status?: number } = {},
  ) {
    super(message, more);
    this.code = code;
    this.status = more.status;
  }
}
