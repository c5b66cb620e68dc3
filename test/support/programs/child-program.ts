import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../../src/shared/time.ts";
import { programEntries, projectRoot } from "../../../src/shared/version-files.ts";
import { queuedMs } from "../clocks/own-time.ts";
import { PATIENCE_MS } from "../clocks/patience.ts";
import { startProcess } from "./own-processes.ts";

/** Between two questions: a tenth of what was waited already, within these. */
const POLL_MIN_MS = 10;
const POLL_MAX_MS = 100;

/**
 * Polls until `read` gives something; rejects with `what` when the limit is over. The limit does
 * not run while the process `pid` is kept from the processor: dozens of programs that start
 * together on a busy machine are each late without a fault. Long waits ask seldom: a question every
 * 10 ms to each of three programs takes the processor from those that are waited for.
 */
export async function until<T>(
  what: string,
  read: () => T | undefined | Promise<T | undefined>,
  limitMs = PATIENCE_MS,
  pid = process.pid,
): Promise<T> {
  const startedMs = systemClock.monotonicMs();
  const deadlineMs = startedMs - queuedMs(pid) + limitMs;
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    if (systemClock.monotonicMs() - queuedMs(pid) > deadlineMs)
      throw new Error(`not within ${limitMs} ms: ${what}`);
    const waitedMs = systemClock.monotonicMs() - startedMs;
    await sleep(systemClock, what, Math.min(Math.max(waitedMs / 10, POLL_MIN_MS), POLL_MAX_MS));
  }
}

/** The folder of the run's bundle, made by `bundled-programs.ts`; a script has none. */
const bundle = process.env["TEST_BUNDLE"];

/**
 * The script of a program of ours, by its path below src. Bundled, a program starts with half the
 * processor time that its sources take.
 */
export function scriptOf(main: string): string {
  const name = Object.entries(programEntries).find(([, entry]) => entry === main)?.[0];
  return bundle !== undefined && name !== undefined
    ? join(bundle, "programs", `${name}.js`)
    : join(projectRoot, "src", main);
}

/** A real process of one of our programs. */
export class ChildProgram {
  readonly name: string;
  readonly #process: ChildProcess;
  /** The exit code, null when a signal ended it. */
  readonly exited: Promise<number | null>;
  output = "";

  /** `main` is a path below src, such as `supervisor/main.ts`. */
  constructor(
    main: string,
    args: readonly string[],
    nodeSwitches: readonly string[] = [],
    environment: Readonly<Record<string, string>> = {},
  ) {
    this.name = main;
    const command = [...nodeSwitches, scriptOf(main), ...args];
    this.#process = startProcess(process.execPath, command, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...environment },
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.output += chunk.toString("utf8");
      });
    }
    this.exited = new Promise((resolve) => {
      this.#process.once("exit", (code) => resolve(code));
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get running(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** What a program writes to its --ready-file. */
  readyFile<T>(path: string): Promise<T> {
    const read = (): T | undefined => {
      if (!this.running) throw new Error(`${this.name} ended: ${this.output}`);
      return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as T) : undefined;
    };
    return until(`${this.name} is ready`, read, PATIENCE_MS, this.pid);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Sends the signal and waits for the end; the exit code, null when a signal ended it. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (this.running) this.#process.kill(signal);
    return await this.exited;
  }

  /** Resident memory in bytes (Linux). */
  residentBytes(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  }
}
