/**
 * Moves bytes to and from a terminal, and knows no protocol. A connection that breaks is never
 * opened again, so nothing that was written on it can leave on the next one.
 */
export interface ByteTransport {
  /** The kind of line, by which a driver chooses its link layer. */
  readonly kind: "serial" | "tcp";
  /** The address for people, such as `/dev/ttyUSB0` or `tcp://10.0.0.5:20007`. */
  readonly address: string;
  /**
   * Resolves when bytes can move. Rejects with {@link TransportError}, or with `signal.reason` when
   * aborted first. `listener` is called from then on.
   */
  open(listener: TransportListener, signal: AbortSignal): Promise<ByteConnection>;
}

export interface TransportListener {
  data(bytes: Uint8Array): void;
  /** Called once, as the last call: the connection has ended; null after a wanted close. */
  closed(problem: TransportError | null): void;
}

export interface ByteConnection {
  /**
   * Gives the bytes to the system. Throws {@link TransportError} when the connection is not open;
   * no byte has left then. A later failure is a call of {@link TransportListener.closed}.
   */
  write(bytes: Uint8Array): void;
  /** Resolves when the port or socket is free again. May be called at any time, more than once. */
  close(): Promise<void>;
}

type TransportErrorCode =
  /** The port does not exist, or no program listens at the address. */
  | "unreachable"
  /** Another program has the port, or this user may not open it. */
  | "refused"
  /** The connection was open and then failed. */
  | "broken"
  /** Bytes were written while the connection was not open. */
  | "not-open";

export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: TransportErrorCode;

  constructor(code: TransportErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
