import { sleep } from "../../../shared/time.ts";
import type { TerminalOptions } from "../options.ts";
import {
  type BytePort,
  listenTcp,
  openPseudoTerminal,
  openSerialDevice,
  PacedPort,
} from "./ports.ts";
import type { Transport } from "./register-line.ts";

export interface Endpoints {
  readonly tcp: { readonly host: string; readonly port: number } | null;
  /** Path of the pseudo-terminal; another one each time that the line comes back. */
  readonly pty: string | null;
  readonly serial: string | null;
}

interface ConnectionsInput {
  readonly options: TerminalOptions;
  connect(port: BytePort, transport: Transport): void;
  note(text: string): void;
}

const nowhere: Endpoints = { tcp: null, pty: null, serial: null };
const RETRY_MS = 500;

/** Opens the terminal's ports, takes them away and brings them back. */
export class Connections {
  readonly #input: ConnectionsInput;
  readonly #over = new AbortController();
  #drops = 0;
  /** Resolves when the lines have been opened again, or with false if that failed. */
  #opening: Promise<boolean> = Promise.resolve(true);
  #listener: Awaited<ReturnType<typeof listenTcp>> | undefined;
  #ports: BytePort[] = [];
  /** TCP port of the first opening, kept so that the lines come back with the same port. */
  #tcpPort: number | undefined;
  endpoints: Endpoints = nowhere;

  constructor(input: ConnectionsInput) {
    this.#input = input;
  }

  get away(): boolean {
    return this.#listener === undefined && this.#ports.length === 0;
  }

  async open(): Promise<void> {
    const { tcp, pty, serial } = this.#input.options;
    this.endpoints = nowhere;
    if (tcp) {
      const connect = (port: BytePort): void => this.#input.connect(port, "tcp");
      this.#listener = await listenTcp(tcp.host, this.#tcpPort ?? tcp.port, connect);
      this.#tcpPort = this.#listener.port;
      this.endpoints = { ...this.endpoints, tcp: { host: tcp.host, port: this.#tcpPort } };
    }
    if (pty) {
      const port = await openPseudoTerminal(pty.link);
      this.#attachSerial(port);
      this.endpoints = { ...this.endpoints, pty: port.path };
    }
    if (serial) {
      this.#attachSerial(await openSerialDevice(serial));
      this.endpoints = { ...this.endpoints, serial: serial.path };
    }
  }

  /** Takes all lines away; they come back after `awayMs`, with null only after the next call. */
  async drop(awayMs: number | null): Promise<void> {
    const drop = ++this.#drops;
    await this.#opening;
    await this.#shut();
    if (awayMs !== null) void this.#comeBack(awayMs, drop);
  }

  async close(): Promise<void> {
    this.#over.abort(new Error("the simulator is closing"));
    await this.#opening;
    await this.#shut();
  }

  /** Opens the lines again, until that succeeds or another call has taken them away. */
  async #comeBack(awayMs: number, drop: number): Promise<void> {
    const { clock } = this.#input.options;
    for (let waitMs = awayMs; ; waitMs = RETRY_MS) {
      await sleep(clock, "unplugged", waitMs, this.#over.signal).catch(() => undefined);
      if (this.#over.signal.aborted || drop !== this.#drops) return;
      this.#opening = this.open().then(
        () => true,
        (error: Error) => {
          this.#input.note(`cannot come back: ${error.message}`);
          return false;
        },
      );
      if (await this.#opening) return;
      await this.#shut();
    }
  }

  async #shut(): Promise<void> {
    const ports = this.#ports;
    this.#ports = [];
    for (const port of ports) port.close();
    const listener = this.#listener;
    this.#listener = undefined;
    await listener?.close();
  }

  #attachSerial(port: BytePort): void {
    const { options, connect } = this.#input;
    this.#ports.push(port);
    // A line that comes back has the speed of the start, as after a restart of the terminal.
    const paced = options.lineSpeed ? new PacedPort(port, options.lineSpeed, options.clock) : port;
    connect(paced, "serial");
  }
}
