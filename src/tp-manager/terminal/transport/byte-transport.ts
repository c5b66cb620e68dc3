/**
 * Moves bytes to and from a terminal, and knows no protocol. A broken connection is never opened
 * again, so bytes written on it can never be sent on a later connection.
 */
export interface ByteTransport {
  /** The kind of connection, by which a driver chooses its framing. */
  readonly kind: "serial" | "tcp";
  /** The address for people, such as `/dev/ttyUSB0` or `tcp://10.0.0.5:20007`. */
  readonly address: string;
  /**
   * Connects to the terminal. Rejects with {@link TransportError}, or with `signal.reason` when
   * `signal` aborts first. `listener` is called as soon as the connection is open.
   */
  open(listener: TransportListener, signal: AbortSignal): Promise<ByteConnection>;
}

export interface TransportListener {
  data(bytes: Uint8Array): void;
  /** Called last, once, when the connection has ended; `problem` is null after our own close. */
  closed(problem: TransportError | null): void;
}

export interface ByteConnection {
  /**
   * Passes the bytes to the operating system. Throws {@link TransportError} when the connection is
   * not open, and then no byte was sent. {@link TransportListener.closed} reports a later failure.
   */
  write(bytes: Uint8Array): void;
  /** Resolves when the port or socket is free again. May be called at any time, more than once. */
  close(): Promise<void>;
}

export class TransportError extends Error {
  override readonly name = "TransportError";
}
