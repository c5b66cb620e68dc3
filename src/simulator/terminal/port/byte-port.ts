/** Moves bytes and knows no protocol: a TCP connection, a pseudo-terminal, a serial device. */
export interface BytePort {
  /** For people: `tcp 127.0.0.1:41234`, `pty /dev/pts/5`. */
  readonly name: string;
  /** Begins to deliver. Called once; nothing may be delivered before. */
  start(handlers: BytePortHandlers): void;
  /** Writes without waiting. Ignored after the port has closed. */
  write(bytes: Uint8Array): void;
  /** Changes the speed, bits per second; a port without this has none. */
  setSpeed?(bitsPerSecond: number): void;
  /** Closes from this side; `closed` is still called. May be called again. */
  close(): void;
}

export interface BytePortHandlers {
  data(bytes: Uint8Array): void;
  /** Called exactly once, whoever closed. */
  closed(): void;
}
