/** Why an update, or what an update is made of, was refused. */
type UpdateFaultCode =
  /** The address may not be asked: it is neither https, nor http on this machine. */
  | "address"
  /** No answer: no name, no connection, a broken line, a certificate that nobody vouches for. */
  | "unreachable"
  /** The server answered with another status than success. */
  | "http-status"
  | "redirected"
  /** Too few bytes came in a window of time, or the whole took too long. */
  | "too-slow"
  /** More bytes came than the caller takes, or than the signed metadata name. */
  | "too-long"
  /** The file of the server is shorter than the signed metadata say. */
  | "too-short"
  | "wrong-hash"
  /** Signatures, versions or hashes of metadata are wrong. */
  | "metadata-refused"
  | "metadata-expired"
  /** There are neither metadata nor a trusted root to begin with. */
  | "no-root"
  /** The signed metadata names no such target. */
  | "no-target"
  /** An archive is damaged, or holds what no delivery of ours has. */
  | "archive"
  /** The disk has no room for another version and the copies of the stores. */
  | "no-room";

/** The error of this folder; its message is the line that an operator reads. */
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
