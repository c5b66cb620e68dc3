import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { installationRoot } from "../../shared/version-files.ts";
import type { Part } from "./part.ts";

/** How a process ended: its exit code, or the signal that ended it. */
export type Ended = { readonly code: number } | { readonly signal: string };

export interface LaunchedProcess {
  readonly name: string;
  readonly pid: number;
  /** undefined while it runs. */
  readonly ended: Ended | undefined;
  /** The process's standard output and error so far. */
  output(): string;
}

/** Megabytes; a kiosk's programs make little garbage at a time. */
const YOUNG_GENERATION_HALF_MB = 2;
/** Each thread's own pool of the C library would keep what the thread once needed. */
const ALLOCATION_POOLS = 2;

/**
 * Bytes from which the C library gives a piece back to the system at once: what compiling needs
 * comes in such pieces. From less on, those that SQLite works with would be fetched from the system
 * anew for each statement. Not of the supervisor, whose buffers for answers are as large.
 */
const GIVEN_BACK_FROM = 32_768;

interface Memory {
  readonly switches: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Switches of Node.js and environment that keep a part's memory small, idle and at work. */
export function smallMemoryOf(name: string): Memory {
  const pools = { MALLOC_ARENA_MAX: String(ALLOCATION_POOLS) };
  return {
    switches: [`--max-semi-space-size=${YOUNG_GENERATION_HALF_MB}`],
    environment:
      name === "tp-manager" ? { ...pools, MALLOC_MMAP_THRESHOLD_: String(GIVEN_BACK_FROM) } : pools,
  };
}

interface Started extends Pick<Part, "script" | "args" | "runtime"> {
  readonly name: string;
}

/** Runs a part with {@link smallMemoryOf}. */
export function spawnPart(
  { name, script, args, runtime = process.execPath }: Started,
  options: Pick<SpawnOptions, "detached" | "stdio" | "env">,
): ChildProcess {
  const { switches, environment } = smallMemoryOf(name);
  return spawn(runtime, [...switches, script, ...args], {
    ...options,
    cwd: installationRoot,
    windowsHide: true,
    env: { ...environment, ...(options.env ?? process.env) },
  });
}

/**
 * Starts a process that outlives the launcher: a session of its own, no terminal window, output to
 * `logs/<name>.out`. That file holds only what never reaches the program's own log (why it would
 * not start, a crash of the runtime); the one of the launch before is kept as `.out.1`.
 */
export async function launchDetached(
  part: Started,
  logDirectory: string,
): Promise<LaunchedProcess> {
  mkdirSync(logDirectory, { recursive: true });
  const file = join(logDirectory, `${part.name}.out`);
  keepEarlier(file);
  const out = openSync(file, "w", 0o600);
  try {
    const child = spawnPart(part, { detached: true, stdio: ["ignore", out, out] });
    const launched = watch(part.name, child, () => readFileSync(file, "utf8"));
    await spawned(child);
    child.unref();
    return launched(child.pid as number);
  } finally {
    closeSync(out);
  }
}

function watch(name: string, child: ChildProcess, output: () => string) {
  let ended: Ended | undefined;
  child.once("exit", (code, signal) => {
    ended = code === null ? { signal: signal ?? "unknown" } : { code };
  });
  return (pid: number): LaunchedProcess => ({
    name,
    pid,
    get ended() {
      return ended;
    },
    output,
  });
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
}

function keepEarlier(file: string): void {
  try {
    if (statSync(file).size > 0) renameSync(file, `${file}.1`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
