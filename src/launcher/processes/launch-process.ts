import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { installationRoot } from "../../shared/version-files.ts";
import type { Launch } from "./process-table.ts";

/** How a process ended: its exit code, or the signal that ended it. */
export type Ended = { readonly code: number } | { readonly signal: string };

export interface LaunchedProcess {
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

/** Switches of Node.js and environment that keep a process's memory small, idle and at work. */
export function smallMemoryOf(name: string): Memory {
  const pools = { MALLOC_ARENA_MAX: String(ALLOCATION_POOLS) };
  return {
    switches: [`--max-semi-space-size=${YOUNG_GENERATION_HALF_MB}`],
    environment:
      name === "tp-manager" ? { ...pools, MALLOC_MMAP_THRESHOLD_: String(GIVEN_BACK_FROM) } : pools,
  };
}

/** Runs a process with {@link smallMemoryOf}. */
export function spawnProcess(
  { name, script, args, runtime = process.execPath }: Launch,
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
 * not start, a crash of the runtime); the one of the previous launch is kept as `.out.1`.
 */
export async function launchDetached(
  launch: Launch,
  logDirectory: string,
): Promise<LaunchedProcess> {
  mkdirSync(logDirectory, { recursive: true });
  const file = join(logDirectory, `${launch.name}.out`);
  keepEarlier(file);
  const out = openSync(file, "w", 0o600);
  try {
    const child = spawnProcess(launch, { detached: true, stdio: ["ignore", out, out] });
    let ended: Ended | undefined;
    child.once("exit", (code, signal) => {
      ended = code === null ? { signal: signal ?? "unknown" } : { code };
    });
    await once(child, "spawn");
    child.unref();
    return {
      pid: child.pid as number,
      get ended() {
        return ended;
      },
      output: () => readFileSync(file, "utf8"),
    };
  } finally {
    closeSync(out);
  }
}

function keepEarlier(file: string): void {
  try {
    if (statSync(file).size > 0) renameSync(file, `${file}.1`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
