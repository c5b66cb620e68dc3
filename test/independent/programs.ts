import { type ChildProcess, execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { projectRoot } from "../../src/shared/version-files.ts";
import { until } from "../support/programs/child-program.ts";
import { startProcess } from "../support/programs/own-processes.ts";

const folder = join(projectRoot, "test/independent");
/** Python writes no compiled files next to the sources. */
const environment = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };

/** Python 3.8 or newer with the module for serial lines; null where there is none. */
export const python = ["/usr/bin/python3", "python3"].find(isPython) ?? null;

function isPython(program: string): boolean {
  const probe = "import sys, termios; sys.exit(sys.version_info < (3, 8))";
  return spawnSync(program, ["-c", probe], { stdio: "ignore" }).status === 0;
}

/** Programs of the Mono packages; null where one is missing. */
export const mono = ["mcs", "mono"].every(
  (program) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0,
)
  ? { compile: compileCSharp }
  : null;

function compileCSharp(source: string, target: string): void {
  execFileSync("mcs", ["-warnaserror", `-out:${target}`, join(folder, source)], { stdio: "pipe" });
}

/** What a step of register.py saw; the fields of the last 04 0F are hexadecimal. */
export interface Step {
  readonly step: string;
  /** Of the command, without the length: `8000`, `8483`. */
  readonly answer?: string;
  readonly end?: string;
  readonly code?: number | null;
  readonly status?: Readonly<Record<string, string>>;
  readonly statuses?: readonly number[];
  readonly receipts?: number;
  /** How many 04 0F came. */
  readonly rounds?: number;
  /** The answer to 06 B0. */
  readonly abort?: string | null;
  readonly open?: readonly string[];
  readonly version?: string | null;
  readonly serial?: string | null;
  /** Every offence against the protocol. */
  readonly problems: readonly string[];
}

/** Runs register.py to its end: `--tcp host:port` or `--pty path`, then the steps. */
export async function runRegister(where: readonly string[], steps: readonly string[]) {
  const output = await runProgram(python as string, [
    join(folder, "register.py"),
    ...where,
    ...steps,
  ]);
  const answers = output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Step);
  if (answers.length !== steps.length) throw new Error(`register.py stopped early:\n${output}`);
  return answers;
}

/** What concert_register.py saw of one payment. */
interface Payment {
  readonly amount: number;
  /** The status of a reply, or AE; null: none came. */
  readonly state: string | null;
  readonly problems: readonly string[];
}

/** Runs concert_register.py to its end: where the terminal is, then the amounts. */
export async function runConcertRegister(given: readonly string[]): Promise<readonly Payment[]> {
  const output = await runProgram(python as string, [
    join(folder, "concert_register.py"),
    ...given,
  ]);
  const lines = output.split("\n").filter((line) => line !== "");
  if (lines.some((line) => !line.startsWith("{"))) throw new Error(output);
  return lines.map((line) => JSON.parse(line) as Payment);
}

/** All that a program printed; its exit code is not judged. */
export function runProgram(program: string, args: readonly string[]): Promise<string> {
  const child = startProcess(program, args, {
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(output));
  });
}

/** What one payment at terminal.py shall become; without an entry it is approved. */
export interface Plan {
  /** Result code, decimal. */
  readonly result?: number;
  /** Error code of 84 xx in hex, instead of 80 00. */
  readonly refuse?: string;
  /** No card comes until the register aborts. */
  readonly wait?: boolean;
  /** Until the card comes. */
  readonly seconds?: number;
  /** Seconds between 84 9C and the next 04 0F; 2 without it. */
  readonly pause?: number;
  /** Abort is refused with 84 83. */
  readonly deaf?: boolean;
  /** Abort is taken, and the payment approved all the same. */
  readonly late?: boolean;
  readonly drop?:
    | "before answer"
    | "after answer"
    | "before result"
    | "result sent"
    | "result answered"
    | "before end";
  /** Seconds until the link is back. */
  readonly away?: number;
  /** What got no ACK stays, as on newer terminals. */
  readonly keep?: boolean;
  /** T4 in each 04 FF. */
  readonly minutes?: readonly [number];
  /** How many frames of the register are refused or get no ACK, or arrive malformed. */
  readonly fault?: Readonly<Partial<Record<"nak" | "mute" | "corrupt", number>>>;
}

interface Event {
  readonly event: string;
  readonly control?: string;
  readonly hex?: string;
  readonly answer?: string | null;
  readonly at?: string | number;
  readonly sales?: Readonly<Record<string, number>>;
  /** Of an offence. */
  readonly text?: string;
}

/** terminal.py as a process of its own. */
export class MockTerminal {
  readonly events: Event[] = [];
  /** Its port, or the link to its device. */
  at = "";
  readonly #process: ChildProcess;
  #errors = "";

  private constructor(where: readonly string[]) {
    const args = [join(folder, "terminal.py"), ...where];
    this.#process = startProcess(python as string, args, { env: environment });
    this.#process.stderr?.on("data", (chunk: Buffer) => {
      this.#errors += chunk.toString("utf8");
    });
    createInterface({ input: this.#process.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      this.events.push(JSON.parse(line) as Event);
    });
  }

  /** `--tcp port`, or `--pty path` of a link that will point to the device. */
  static async start(...where: readonly string[]): Promise<MockTerminal> {
    const terminal = new MockTerminal(where);
    const { at } = await terminal.#next("listening", 0);
    terminal.at = String(at);
    return terminal;
  }

  plan(next: Plan): void {
    this.#order({ next });
  }

  /** Status byte of the terminal (docs/zvt.md 11.5), in hex. */
  state(state: string): void {
    this.#order({ state });
  }

  /** The turnover by receipt number; all events until now are in when it resolves. */
  async books(): Promise<Readonly<Record<string, number>>> {
    const before = this.events.length;
    this.#order({ ask: 1 });
    return (await this.#next("books", before)).sales ?? {};
  }

  /** Every offence of the register so far. */
  get problems(): readonly string[] {
    return this.events.flatMap(({ text }) => text ?? []);
  }

  /** Commands of this control field so far. */
  count(control: string): number {
    return this.events.filter((event) => event.control === control).length;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill();
    await ended;
  }

  #order(order: object): void {
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  #next(name: string, from: number): Promise<Event> {
    return until(`terminal.py says ${name}`, () => {
      if (this.#process.exitCode !== null) throw new Error(`terminal.py ended: ${this.#errors}`);
      return this.events.slice(from).find(({ event }) => event === name);
    });
  }
}
