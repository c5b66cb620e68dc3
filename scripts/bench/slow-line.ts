import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync } from "node:fs";
import { ReadStream } from "node:tty";
import { projectRoot } from "../../src/shared/version-files.ts";
import { openPty } from "../../src/simulator/terminal/port/ports.ts";
import { median } from "./figures.ts";

/** One start, eight data and one stop bit. */
const BITS_PER_BYTE = 10;
/** A timer of Node.js may be so late; the rest of a wait is spent in turns of the event loop. */
const TIMER_MS = 2;

type End = "connector" | "terminal";

/** What the line did since {@link SlowLine.begin}. */
export interface LineTimes {
  readonly bytes: number;
  /** How often the other end began to send. */
  readonly turns: number;
  /** The time in which bytes were on the wire, by their number and the speed. */
  readonly wireMs: number;
  /** The time in which the wire was idle, by the end that sent next. */
  readonly idleMs: Readonly<Record<End, number>>;
  /** The connector's part of it after its first byte and before the last byte of the terminal. */
  readonly inDialogueMs: number;
  /** How often the connector answered in the dialogue. */
  readonly answers: number;
}

/**
 * A serial line between a connector and a simulated terminal, as slow as a real one: two
 * pseudo-terminals, and this process copies the bytes. The bytes of one write arrive together when
 * the last of them would, so that no end can work on the first ones meanwhile.
 */
export class SlowLine {
  /** The path for the connector's SERIAL_PORT. */
  readonly path: string;
  readonly #byteMs: number;
  readonly #terminalPath: () => string;
  readonly #register: Awaited<ReturnType<typeof openPty>>;
  #terminal: ReadStream | undefined;
  #sent: Promise<void> = Promise.resolve();
  #idleSinceMs = 0;
  #last: End = "connector";
  /** How long the wire was idle before the first byte. */
  #firstMs = 0;
  #times = { bytes: 0, turns: 0, answers: 0, idleMs: { connector: 0, terminal: 0 } };

  /** Opens the connector's end; the terminal's end is opened for the first byte. */
  static async open(bitsPerSecond: number, terminalPath: () => string): Promise<SlowLine> {
    return new SlowLine(await openPty(), bitsPerSecond, terminalPath);
  }

  private constructor(
    register: Awaited<ReturnType<typeof openPty>>,
    bitsPerSecond: number,
    terminalPath: () => string,
  ) {
    this.#register = register;
    this.path = register.path;
    this.#byteMs = (BITS_PER_BYTE * 1_000) / bitsPerSecond;
    this.#terminalPath = terminalPath;
    execFileSync("stty", ["-F", this.path, "raw", "-echo"]);
    register.terminalEnd.on("error", () => undefined); // the connector has ended
    register.terminalEnd.on("data", (bytes: Buffer) => this.#pass("connector", bytes));
  }

  /** Forgets what was before, for a payment that begins now. */
  begin(): void {
    this.#idleSinceMs = performance.now();
    this.#times = { bytes: 0, turns: 0, answers: 0, idleMs: { connector: 0, terminal: 0 } };
  }

  /** Returns the times since {@link begin}; the connector has just answered. */
  end(): LineTimes {
    const { bytes, turns, answers, idleMs } = this.#times;
    const inDialogueMs = idleMs.connector - this.#firstMs;
    idleMs.connector += performance.now() - this.#idleSinceMs;
    const wireMs = bytes * this.#byteMs;
    return { bytes, turns, answers, wireMs, idleMs, inDialogueMs };
  }

  close(): void {
    this.#terminal?.destroy();
    this.#register.close();
  }

  #pass(from: End, bytes: Buffer): void {
    const startMs = performance.now();
    const to = from === "connector" ? this.#terminalEnd() : this.#register.terminalEnd;
    this.#sent = this.#sent.then(async () => {
      // Bytes that were written while others were on the wire follow those without a gap.
      const gapMs = Math.max(0, startMs - this.#idleSinceMs);
      if (this.#times.bytes === 0) this.#firstMs = gapMs;
      this.#times.idleMs[from] += gapMs;
      this.#times.bytes += bytes.length;
      if (from !== this.#last) this.#times.turns += 1;
      if (from !== this.#last && from === "connector") this.#times.answers += 1;
      this.#last = from;
      await reached(this.#idleSinceMs + gapMs + bytes.length * this.#byteMs);
      to.write(bytes);
      this.#idleSinceMs = performance.now();
    });
  }

  #terminalEnd(): ReadStream {
    if (this.#terminal) return this.#terminal;
    const file = openSync(this.#terminalPath(), constants.O_RDWR | constants.O_NOCTTY);
    try {
      this.#terminal = new ReadStream(file);
    } catch (error) {
      closeSync(file);
      throw error;
    }
    this.#terminal.on("error", () => undefined); // the terminal has ended
    this.#terminal.on("data", (bytes: Buffer) => this.#pass("terminal", bytes));
    return this.#terminal;
  }
}

/** Resolves at a time, more exactly than a timer does. */
async function reached(atMs: number): Promise<void> {
  const leftMs = atMs - performance.now() - TIMER_MS;
  if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
  while (performance.now() < atMs) await new Promise((resolve) => setImmediate(resolve));
}

/** A program that only echoes, with the package for serial lines that the connector has. */
const echo = `
import { SerialPort } from "serialport";
const port = new SerialPort({ path: process.argv[1], baudRate: 9600 });
port.on("data", (bytes) => port.write(bytes));
port.on("open", () => console.log("open"));
`;
const ECHOES = 200;

/**
 * Returns the median time in milliseconds until a byte comes back from a program that only echoes:
 * what the system, this process and the package take for each answer.
 */
export async function echoMs(): Promise<number> {
  const { path, terminalEnd, close } = await openPty();
  const args = ["--input-type=module", "-e", echo, path];
  const program = spawn(process.execPath, args, {
    cwd: projectRoot,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(program.stdout, "data");
  const times: number[] = [];
  for (let i = 0; i < ECHOES; i++) {
    const startMs = performance.now();
    const answered = once(terminalEnd, "data");
    terminalEnd.write(Uint8Array.of(i));
    await answered;
    times.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, TIMER_MS));
  }
  program.kill("SIGKILL");
  await once(program, "exit");
  close();
  return median(times);
}
