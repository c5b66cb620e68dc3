import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import type { Duplex } from "node:stream";
import type { ReadStream } from "node:tty";
import { type Clock, sleep } from "../../../shared/time.ts";
import type { SerialDevice } from "../options.ts";

/** Carries bytes and knows no protocol: a TCP connection, a pseudo-terminal or a serial device. */
export interface BytePort {
  /** The name that people read: `tcp 127.0.0.1:41234`, `pty /dev/pts/5`. */
  readonly name: string;
  /** Begins to deliver bytes; called once. */
  start(handlers: BytePortHandlers): void;
  /** Writes without waiting; does nothing after the port has closed. */
  write(bytes: Uint8Array): void;
  /** Changes the speed, in bits per second; a port without this method has no speed. */
  setSpeed?(bitsPerSecond: number): void;
  /** Closes from this side; `closed` is still called. May be called again. */
  close(): void;
}

export interface BytePortHandlers {
  data(bytes: Uint8Array): void;
  /** Called exactly once, from whichever side it was closed. */
  closed(): void;
}

/** Returns the port of a stream; `ways` are how this kind of port writes and closes. */
function streamPort<W extends Omit<BytePort, "name" | "start">>(
  name: string,
  stream: Duplex,
  ways: W,
) {
  // An error ends a line like any other close: the event "close" follows.
  stream.on("error", () => ways.close());
  const start = ({ data, closed }: BytePortHandlers): void => {
    stream.on("data", data);
    stream.once("close", closed);
    if (stream.destroyed) closed();
  };
  return { name, start, ...ways };
}

/**
 * Listens on TCP for one register at a time; port 0 is a free port. The newest connection replaces
 * the last one, because a kiosk that lost power leaves a dead connection and connects again.
 */
export async function listenTcp(host: string, port: number, onPort: (port: BytePort) => void) {
  let current: BytePort | undefined;
  const server = createServer({ noDelay: true }, (socket) => {
    current?.close();
    const name = `tcp ${socket.remoteAddress ?? "?"}:${socket.remotePort ?? "?"}`;
    current = streamPort(name, socket, {
      write: (bytes) => socket.writable && socket.write(bytes),
      // Bytes that were written leave first, then both sides see the connection closed.
      close: () => socket.destroySoon(),
    });
    onPort(current);
  });
  server.listen(port, host);
  await once(server, "listening");
  const close = async (): Promise<void> => {
    current?.close();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/** The real result of `open()` of @lydell/node-pty, whose own types leave out the two streams. */
interface OpenPty {
  readonly ptsName: string;
  readonly master: ReadStream;
  readonly slave: ReadStream;
}

/**
 * Opens a pseudo-terminal, a serial line without hardware that the register opens at `path`. The
 * device stays while registers open and close it. Rejects with advice if there are none here.
 */
export async function openPseudoTerminal(link: string | null) {
  const { open } = await loadPackage();
  const { ptsName: path, master, slave } = open({ encoding: null });
  // The register's end stays open and is never read: without an opener the kernel ends the master.
  const registerEnd = openSync(path, constants.O_RDWR | constants.O_NOCTTY);
  // The package also reads the register's end, and would take bytes from the register. Its own
  // `destroy` is not used, because it sends a signal to process -1, which is every process.
  slave.destroy();
  setRaw(path);
  if (link) replaceLink(path, link);
  let isClosed = false;
  const port = streamPort(`pty ${path}`, master, {
    write(bytes: Uint8Array) {
      if (!isClosed) master.write(bytes);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      if (link) rmSync(link, { force: true });
      master.destroy();
      closeSync(registerEnd);
    },
  });
  return { ...port, path };
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

/** Switches off line editing, echo and the translation of line ends. */
function setRaw(path: string): void {
  const device = process.platform === "darwin" ? "-f" : "-F";
  try {
    execFileSync("stty", [device, path, "raw", "-echo"], { stdio: "pipe" });
  } catch (error) {
    throw new Error(`cannot set ${path} raw: the program stty is needed`, { cause: error });
  }
}

/** Points the link at the new device in one step, so that the link always points to a device. */
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
export async function openSerialDevice(device: SerialDevice): Promise<BytePort> {
  // The package is loaded only where it is needed, because it brings a native part.
  const { SerialPort } = await import("serialport");
  const port = new SerialPort({ ...device, autoOpen: false });
  await new Promise<void>((resolve, reject) => {
    port.open((error) => (error ? reject(error) : resolve()));
  });
  return streamPort(`serial ${device.path}`, port, {
    write: (bytes) => port.isOpen && port.write(Buffer.from(bytes)),
    setSpeed: (baudRate) => port.isOpen && port.update({ baudRate }),
    close: () => port.isOpen && port.close(),
  });
}

/** The bits of a byte on the line: a start bit, eight data bits and a stop bit. */
const BITS_PER_BYTE = 10;

/** The bytes of this many milliseconds leave as one piece, because timers are no finer. */
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

  /** Sets the speed of the bytes that are written or received after this call. */
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
      // A piece arrives with its last bit. The time counts from the start of the first piece, so
      // that delays of the timer do not add up.
      const dueMs = startMs + (at + piece.length) / bytesPerMs;
      await sleep(this.#clock, "line speed", dueMs - this.#clock.monotonicMs());
      to(piece);
    }
  }
}
