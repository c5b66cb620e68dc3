import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import type { Duplex } from "node:stream";
import { ReadStream } from "node:tty";
import { openSerialPort } from "../../../shared/process/serial-port.ts";
import { type Clock, sleep } from "../../../shared/time.ts";
import type { SerialDevice, TerminalOptions } from "../options.ts";

export type Transport = "tcp" | "serial";

/** A port carries bytes and knows no protocol: TCP connection, pseudo-terminal or serial device. */
export interface BytePort {
  /** The name that people read: `tcp 127.0.0.1:41234`, `pty /dev/pts/5`. */
  readonly name: string;
  /** Begins to pass received bytes to `handlers`; must be called once. */
  start(handlers: BytePortHandlers): void;
  /** Writes without waiting; does nothing after the port has closed. */
  write(bytes: Uint8Array): void;
  /** Changes the speed in bits per second; missing: the port has no speed. */
  setSpeed?(bitsPerSecond: number): void;
  /** Closes the port from this side; `closed` is called too. A second call has no effect. */
  close(): void;
}

interface BytePortHandlers {
  data(bytes: Uint8Array): void;
  /** Called exactly once, whichever side has closed the port. */
  closed(): void;
}

/** Returns the port of a stream; `ways`: how a port of this kind writes and closes. */
function streamPort(name: string, stream: Duplex, ways: Omit<BytePort, "name" | "start">) {
  // After an error the event "close" follows, so an error ends a line like any other close.
  stream.on("error", () => ways.close());
  const start = ({ data, closed }: BytePortHandlers): void => {
    stream.on("data", data);
    stream.once("close", closed);
    if (stream.destroyed) closed();
  };
  return { name, start, ...ways };
}

/**
 * Listens for registers. Unless `many` may be connected, a new connection replaces the dead one of
 * a kiosk that lost power.
 */
async function listenTcp(
  { host, port, many }: { host: string; port: number; many: boolean },
  onPort: (port: BytePort) => void,
) {
  const open = new Set<BytePort>();
  const closeAll = (): void => {
    for (const each of open) each.close();
  };
  const server = createServer({ noDelay: true }, (socket) => {
    if (!many) closeAll();
    const name = `tcp ${socket.remoteAddress ?? "?"}:${socket.remotePort ?? "?"}`;
    const current = streamPort(name, socket, {
      write: (bytes) => socket.writable && socket.write(bytes),
      // Bytes that were already written are sent before both sides see the end of the connection.
      close: () => socket.destroySoon(),
    });
    open.add(current);
    socket.once("close", () => open.delete(current));
    onPort(current);
  });
  server.listen(port, host);
  await once(server, "listening");
  const close = async (): Promise<void> => {
    closeAll();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/**
 * Opens a pseudo-terminal, whose register's end stays open too: otherwise the kernel would close
 * the terminal's end with the register. Rejects with advice if this machine has none. Registers
 * open `path`; the caller handles the errors of `terminalEnd`.
 */
export async function openPty() {
  const { master, slave, pty: path } = await openBothEnds();
  // Programs that this one starts would inherit the package's file, and keep the line alive.
  const registerEnd = openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  closeSync(slave);
  const terminalEnd = new ReadStream(master);
  const close = (): void => {
    terminalEnd.destroy();
    closeSync(registerEnd);
  };
  return { path, terminalEnd, close };
}

/**
 * Opens both ends as numbers of open files. The package's own `open()` makes streams of both: its
 * stream of the register's end would take bytes from the register, and leaves a file open.
 */
async function openBothEnds(): Promise<{ master: number; slave: number; pty: string }> {
  try {
    const { requireBinary } = await import("@lydell/node-pty/requireBinary.js" as string);
    return requireBinary("pty.node").open(80, 24);
  } catch (error) {
    throw new Error(
      "--pty needs the optional package @lydell/node-pty: run npm ci with optional packages " +
        "(Linux and macOS only), or use --tcp or --serial",
      { cause: error },
    );
  }
}

/**
 * Opens a pseudo-terminal: a serial line without hardware, which registers open at `path` and
 * close. Rejects with advice if this machine has no pseudo-terminals.
 */
async function openPseudoTerminal(link: string | null) {
  const { path, terminalEnd, close } = await openPty();
  try {
    setRaw(path);
    if (link) replaceLink(path, link);
  } catch (error) {
    close();
    throw error;
  }
  let isClosed = false;
  const port = streamPort(`pty ${path}`, terminalEnd, {
    write(bytes: Uint8Array) {
      if (!isClosed) terminalEnd.write(bytes);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      if (link) rmSync(link, { force: true });
      close();
    },
  });
  return { ...port, path };
}

/** Switches off line editing, echo and the translation of line ends. */
function setRaw(path: string): void {
  const device = process.platform === "darwin" ? "-f" : "-F";
  try {
    execFileSync("stty", [device, path, "raw", "-echo"], { stdio: "pipe" });
  } catch (error) {
    throw new Error(`cannot set ${path} raw: stty failed or is missing`, { cause: error });
  }
}

/** Points the link at the new device in one step, so that it never points nowhere. */
function replaceLink(path: string, link: string): void {
  const fresh = `${link}.new`;
  try {
    rmSync(fresh, { force: true });
    symlinkSync(path, fresh);
    renameSync(fresh, link);
  } catch (error) {
    throw new Error(`cannot make the link ${link}: ${(error as Error).message}`, { cause: error });
  }
}

/** Opens a real serial device, without handshake. */
async function openSerialDevice(device: SerialDevice): Promise<BytePort> {
  const { port, close } = await openSerialPort(device);
  return streamPort(`serial ${device.path}`, port, {
    write: (bytes) => port.isOpen && port.write(Buffer.from(bytes)),
    setSpeed: (baudRate) => port.isOpen && port.update({ baudRate }),
    close: () => void close(),
  });
}

/** The bits of a byte on the line: a start bit, eight data bits and a stop bit. */
const BITS_PER_BYTE = 10;

/** The bytes of this many milliseconds are sent as one piece, because timers are not finer. */
const PIECE_MS = 10;

/** A port that is slowed down to the speed of a real line, in both directions. */
export class PacedPort implements BytePort {
  readonly name: string;
  readonly #port: BytePort;
  readonly #clock: Clock;
  #bytesPerMs = 0;
  #pieceBytes = 0;
  #out: Promise<void> = Promise.resolve();
  #in: Promise<void> = Promise.resolve();

  constructor(port: BytePort, bitsPerSecond: number, clock: Clock) {
    this.name = port.name;
    this.#port = port;
    this.#clock = clock;
    this.setSpeed(bitsPerSecond);
  }

  /** Sets the speed of the bytes that are written or received after this call. */
  setSpeed(bitsPerSecond: number): void {
    this.#bytesPerMs = bitsPerSecond / BITS_PER_BYTE / 1_000;
    this.#pieceBytes = Math.max(1, Math.floor(this.#bytesPerMs * PIECE_MS));
  }

  start({ data, closed }: BytePortHandlers): void {
    // Bytes that are still on the line when it is cut never arrive.
    let isClosed = false;
    this.#port.start({
      data: (bytes) => {
        this.#in = this.#in.then(() => this.#pass(bytes, (piece) => isClosed || data(piece)));
      },
      closed: () => {
        isClosed = true;
        closed();
      },
    });
  }

  write(bytes: Uint8Array): void {
    this.#out = this.#out.then(() => this.#pass(bytes, (piece) => this.#port.write(piece)));
  }

  close(): void {
    this.#port.close();
  }

  async #pass(bytes: Uint8Array, to: (piece: Uint8Array) => void): Promise<void> {
    const startMs = this.#clock.monotonicMs();
    const [bytesPerMs, pieceBytes] = [this.#bytesPerMs, this.#pieceBytes];
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const piece = bytes.subarray(at, at + pieceBytes);
      // A piece arrives when its last bit does. Times count from the start of the first piece, so
      // that delays of the timer do not add up.
      const dueMs = startMs + (at + piece.length) / bytesPerMs;
      await sleep(this.#clock, "line speed", dueMs - this.#clock.monotonicMs());
      to(piece);
    }
  }
}

export interface Endpoints {
  readonly tcp: { readonly host: string; readonly port: number } | null;
  /** The path of the pseudo-terminal, which may change each time that the line is opened. */
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

/** Opens the terminal's lines, takes them away and brings them back, as faults demand. */
export class Connections {
  readonly #input: ConnectionsInput;
  readonly #over = new AbortController();
  #drops = 0;
  /** Resolves when the lines have been opened again, or with false if that failed. */
  #opening: Promise<boolean> = Promise.resolve(true);
  #listener: Awaited<ReturnType<typeof listenTcp>> | undefined;
  #ports: BytePort[] = [];
  /** The TCP port of the first opening, so that the lines come back with the same port. */
  #tcpPort: number | undefined;
  endpoints: Endpoints = nowhere;

  constructor(input: ConnectionsInput) {
    this.#input = input;
  }

  get away(): boolean {
    return this.#listener === undefined && this.#ports.length === 0;
  }

  async open(): Promise<void> {
    const { tcp, pty, serial, manyConnections: many } = this.#input.options;
    this.endpoints = nowhere;
    if (tcp) {
      const connect = (port: BytePort): void => this.#input.connect(port, "tcp");
      const at = { host: tcp.host, port: this.#tcpPort ?? tcp.port, many };
      this.#listener = await listenTcp(at, connect);
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

  /** Takes all lines away. They come back after `awayMs` milliseconds; null: after another call. */
  async drop(awayMs: number | null): Promise<void> {
    const drop = ++this.#drops;
    await this.#opening;
    await this.#shut();
    if (awayMs !== null) void this.#comeBack(awayMs, drop);
  }

  async close(): Promise<void> {
    this.#over.abort(new Error("the terminal simulator is being closed"));
    await this.#opening;
    await this.#shut();
  }

  /** Opens the lines again; gives up when another call has taken the lines away. */
  async #comeBack(awayMs: number, drop: number): Promise<void> {
    const { clock } = this.#input.options;
    for (let waitMs = awayMs; ; waitMs = RETRY_MS) {
      await sleep(clock, "unplugged", waitMs, this.#over.signal).catch(() => undefined);
      if (this.#over.signal.aborted || drop !== this.#drops) return;
      this.#opening = this.open().then(
        () => true,
        (error: Error) => {
          this.#input.note(`the simulator cannot open its lines again: ${error.message}`);
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
    // A line that comes back has its first speed, as after a restart of the terminal.
    const paced = options.lineSpeed ? new PacedPort(port, options.lineSpeed, options.clock) : port;
    connect(paced, "serial");
  }
}
