import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { ReadStream } from "node:tty";
import { projectRoot } from "../../src/shared/version-files.ts";
import { openPty } from "../../src/simulator/terminal/port/ports.ts";

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
  readonly dialogue: readonly Speech[];
}

/** What one end sent before the other end sent something. */
interface Speech {
  readonly from: End;
  hex: string;
  /** Whether the connector wrote to its journal between what came before and this. */
  readonly isStored: boolean;
  /** How long the wire was idle before. */
  idleMs: number;
}

/** An answer of the connector: after so many bytes, and perhaps after a synced commit. */
export interface Answer extends Pick<Speech, "hex" | "isStored"> {
  readonly after: number;
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
  #times = { bytes: 0, turns: 0, idleMs: { connector: 0, terminal: 0 } };
  #dialogue: Speech[] = [];
  #logBytes = 0;
  /** The path of the connector's journal, whose log of writes shows a commit. */
  journal = "";

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
    this.#times = { bytes: 0, turns: 0, idleMs: { connector: 0, terminal: 0 } };
    this.#dialogue = [];
  }

  /** Returns the times since {@link begin}; the connector has just answered. */
  end(): LineTimes {
    const { bytes, turns, idleMs } = this.#times;
    idleMs.connector += performance.now() - this.#idleSinceMs;
    const wireMs = bytes * this.#byteMs;
    return { bytes, turns, wireMs, idleMs, dialogue: this.#dialogue };
  }

  /** Whether the journal has grown since the last call. */
  #hasStored(): boolean {
    const before = this.#logBytes;
    this.#logBytes = statSync(`${this.journal}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    return this.#logBytes > before;
  }

  close(): void {
    this.#terminal?.destroy();
    this.#register.close();
  }

  #pass(from: End, bytes: Buffer): void {
    const startMs = performance.now();
    const isStored = from === "connector" && this.#hasStored();
    const hex = bytes.toString("hex");
    const before = this.#dialogue.at(-1);
    const said = before?.from === from ? before : { from, hex: "", isStored, idleMs: 0 };
    if (said !== before) this.#dialogue.push(said);
    said.hex += hex;
    const to = from === "connector" ? this.#terminalEnd() : this.#register.terminalEnd;
    this.#sent = this.#sent.then(async () => {
      // Bytes that were written while others were on the wire follow those without a gap.
      const gapMs = Math.max(0, startMs - this.#idleSinceMs);
      this.#times.idleMs[from] += gapMs;
      said.idleMs += gapMs;
      this.#times.bytes += bytes.length;
      if (from !== this.#last) this.#times.turns += 1;
      this.#last = from;
      await reached(this.#idleSinceMs + gapMs + bytes.length * this.#byteMs);
      if (from === "terminal") this.#hasStored();
      this.#idleSinceMs = performance.now();
      to.write(bytes);
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

const PLAYS = 20;
/** Of {@link PLAYS}; Node.js compiles code that runs often. */
const WARMING = 3;

/**
 * Returns how long a program that only answers in a dialogue of {@link SlowLine} needs for each of
 * its answers, each time that the dialogue is played at the same speed: what the system, this
 * process and the package for serial lines take. `stores`: with the connector's synced commits.
 */
export async function emptyMs(
  dialogue: readonly Speech[],
  { speed, stores, folder }: { speed: number; stores: boolean; folder: string },
): Promise<number[][]> {
  // What the connector sends first is no answer, and the terminal's last bytes get none.
  const first = dialogue.findIndex(({ from }) => from === "terminal");
  const last = dialogue.findLastIndex(({ from }) => from === "connector");
  const turns = dialogue.slice(first, last + 1);
  const answers = turns.flatMap(({ from, hex, isStored }, i): Answer[] => {
    const after = (turns[i - 1]?.hex.length ?? 0) / 2;
    return from === "connector" ? [{ after, hex, isStored: stores && isStored }] : [];
  });
  const { path, terminalEnd, close } = await openPty();
  const file = join(projectRoot, "scripts/bench/empty-register.ts");
  const args = [file, path, JSON.stringify(answers), join(folder, `empty-${stores}.db`)];
  const program = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(program.stdout, "data");
  const byteMs = (BITS_PER_BYTE * 1_000) / speed;
  const plays: number[][] = [];
  for (let i = -WARMING; i < PLAYS; i++) {
    const times: number[] = [];
    for (const { from, hex } of turns) {
      const wireMs = (hex.length / 2) * byteMs;
      await reached(performance.now() + wireMs);
      if (from === "connector") continue;
      const startMs = performance.now();
      const answered = once(terminalEnd, "data");
      terminalEnd.write(Buffer.from(hex, "hex"));
      await answered;
      times.push(performance.now() - startMs);
    }
    if (i >= 0) plays.push(times);
  }
  program.kill("SIGKILL");
  await once(program, "exit");
  close();
  return plays;
}
