import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { ReadStream } from "node:tty";
import type { SerialPort } from "serialport";
import { type Clock, sleep } from "../../../shared/time.ts";
import type { SerialDevice } from "../options.ts";

/** Moves bytes and knows no protocol: a TCP connection, a pseudo-terminal, a serial device. */
export interface BytePort {
  /** For people: `tcp 127.0.0.1:41234`, `pty /dev/pts/5`. */
  readonly name: string;
  /** Begins to deliver bytes. Called once. */
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
  /** Called exactly once, from whichever side it was closed. */
  closed(): void;
}

/**
 * Listens like a terminal. One register at a time: the newest connection wins,
 * since a kiosk that lost power leaves a dead one and has to connect again.
 */
export class TcpListener {
  readonly #onPort: (port: BytePort) => void;
  #server: Server | undefined;
  #current: TcpPort | undefined;

  constructor(onPort: (port: BytePort) => void) {
    this.#onPort = onPort;
  }

  /** Begins to listen. Returns the port number that was taken. */
  async open(host: string, port: number): Promise<number> {
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    this.#server = server;
    server.listen(port, host);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  /** Closes the connection and listens no longer. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#current?.close();
    this.#current = undefined;
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  #accept(socket: Socket): void {
    if (!this.#server) {
      socket.destroy();
      return;
    }
    this.#current?.close();
    this.#current = new TcpPort(socket);
    this.#onPort(this.#current);
  }
}

class TcpPort implements BytePort {
  readonly name: string;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.name = `tcp ${socket.remoteAddress ?? "?"}:${socket.remotePort ?? "?"}`;
    this.#socket = socket;
    // A reset is the end of the line like any other; "close" follows.
    socket.on("error", () => {});
  }

  start({ data, closed }: BytePortHandlers): void {
    this.#socket.on("data", data);
    this.#socket.once("close", closed);
    if (this.#socket.destroyed) closed();
  }

  write(bytes: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  close(): void {
    // Bytes written before leave first, then the connection is gone for both sides.
    this.#socket.destroySoon();
  }
}

/** The real result of the package's `open()`; its own types leave the two streams out. */
interface OpenPty {
  readonly ptsName: string;
  readonly master: ReadStream;
  readonly slave: ReadStream;
}

/**
 * A serial line without hardware: the register opens {@link PseudoTerminal.path} as its port. The
 * device stays while registers open and close it, as a real one does.
 */
export class PseudoTerminal implements BytePort {
  readonly name: string;
  readonly path: string;
  readonly #master: ReadStream;
  readonly #link: string | null;
  /** The register's end, open and never read: without an opener the kernel ends the master. */
  readonly #slave: number;
  #closed = false;

  private constructor(pty: OpenPty, link: string | null) {
    this.path = pty.ptsName;
    this.name = `pty ${pty.ptsName}`;
    this.#master = pty.master;
    this.#link = link;
    this.#slave = openSync(this.path, constants.O_RDWR | constants.O_NOCTTY);
    // The package reads the register's end too, and would steal what is meant for the register.
    // Its own `destroy` must not be used: it sends a signal to process -1, which is every process.
    pty.slave.destroy();
    setRaw(this.path);
    if (link) replaceLink(this.path, link);
  }

  /** Rejects if there is no pseudo-terminal; the message says what to do. */
  static async open(link: string | null): Promise<PseudoTerminal> {
    const { open } = await loadPackage();
    return new PseudoTerminal(open({ encoding: null }), link);
  }

  start({ data, closed }: BytePortHandlers): void {
    this.#master.on("data", data);
    this.#master.once("error", () => this.close());
    this.#master.once("close", closed);
  }

  write(bytes: Uint8Array): void {
    if (this.#closed) return;
    // A ReadStream of a terminal can be written to as well; the types do not say so.
    (this.#master as unknown as { write(bytes: Uint8Array): void }).write(bytes);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#link) rmSync(this.#link, { force: true });
    this.#master.destroy();
    closeSync(this.#slave);
  }
}

async function loadPackage() {
  try {
    return (await import("@lydell/node-pty")) as unknown as {
      open(options: { encoding: null }): OpenPty;
    };
  } catch (error) {
    throw new Error(
      "--pty needs the optional package @lydell/node-pty: run npm ci with optional packages " +
        "(Linux and macOS only), or use --tcp or --serial",
      { cause: error },
    );
  }
}

/** No line editing, no echo, no translation of line ends: bytes pass as they are. */
function setRaw(path: string): void {
  const device = process.platform === "darwin" ? "-f" : "-F";
  try {
    execFileSync("stty", [device, path, "raw", "-echo"], { stdio: "pipe" });
  } catch (error) {
    throw new Error(`cannot set ${path} raw: the program stty is needed`, {
      cause: error,
    });
  }
}

/** Points the link at the new device in one step, so that it always points to one. */
function replaceLink(path: string, link: string): void {
  const fresh = `${link}.new`;
  try {
    rmSync(fresh, { force: true });
    symlinkSync(path, fresh);
    renameSync(fresh, link);
  } catch (error) {
    throw new Error(`cannot make the link ${link}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** A real serial device, without handshake. */
export class SerialDevicePort implements BytePort {
  readonly name: string;
  readonly #port: SerialPort;

  private constructor(port: SerialPort) {
    this.name = `serial ${port.path}`;
    this.#port = port;
  }

  static async open(device: SerialDevice): Promise<SerialDevicePort> {
    // The package is loaded only where it is needed, because it brings a native part.
    const { SerialPort } = await import("serialport");
    return await new Promise((resolve, reject) => {
      const port = new SerialPort(device, (error) =>
        error ? reject(error) : resolve(new SerialDevicePort(port)),
      );
    });
  }

  start({ data, closed }: BytePortHandlers): void {
    this.#port.on("data", data);
    this.#port.once("close", closed);
    this.#port.on("error", () => this.close());
  }

  write(bytes: Uint8Array): void {
    if (this.#port.isOpen) this.#port.write(Buffer.from(bytes));
  }

  setSpeed(baudRate: number): void {
    if (this.#port.isOpen) this.#port.update({ baudRate });
  }

  close(): void {
    if (this.#port.isOpen) this.#port.close();
  }
}

/** Bits of a byte on the line: start bit, eight data bits and stop bit. */
const BITS_PER_BYTE = 10;

/** The bytes of this time leave as one piece: timers are no finer. */
const PIECE_MS = 10;

/** Slows a port down to the speed of a real line, in both directions. */
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

  /** Sets the speed of the next bytes; bytes on their way keep theirs. */
  setSpeed(bitsPerSecond: number): void {
    this.#bytesPerMs = bitsPerSecond / BITS_PER_BYTE / 1_000;
    this.#pieceBytes = Math.max(1, Math.floor(this.#bytesPerMs * PIECE_MS));
  }

  start({ data, closed }: BytePortHandlers): void {
    this.#port.start({
      data: (bytes) => {
        this.#in = this.#in.then(() => this.#pass(bytes, data));
      },
      closed,
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
      // Each piece is there when its last bit is; measured from the start, so that delays of the
      // timer do not add up.
      const dueMs = startMs + (at + piece.length) / bytesPerMs;
      await sleep(this.#clock, "line speed", dueMs - this.#clock.monotonicMs());
      to(piece);
    }
  }
}
