import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { installationRoot } from "../../shared/version-files.ts";
import type { Launch } from "./process-table.ts";

/**
 * Half of V8's young generation, in megabytes; a kiosk's programs make little garbage at a time.
 */
const YOUNG_GENERATION_HALF_MB = 2;
/** The C library's memory pools; one for each thread would keep what the thread once needed. */
const ALLOCATION_POOLS = 2;

/**
 * The bytes from which the C library gives a piece back to the system at once: compiling needs such
 * pieces. SQLite works with smaller ones, which would be fetched from the system anew for each
 * statement. The supervisor is without this limit, because its buffers for answers are as large.
 */
const GIVEN_BACK_FROM = 32_768;

/** Switches of Node.js and environment that keep a process's memory small, idle and at work. */
export function smallMemoryOf(name: string) {
  const pools = { MALLOC_ARENA_MAX: String(ALLOCATION_POOLS) };
  const environment: Readonly<Record<string, string>> =
    name === "tp-manager" ? { ...pools, MALLOC_MMAP_THRESHOLD_: String(GIVEN_BACK_FROM) } : pools;
  return { switches: [`--max-semi-space-size=${YOUNG_GENERATION_HALF_MB}`], environment };
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
export async function launchDetached(launch: Launch, logDirectory: string) {
  mkdirSync(logDirectory, { recursive: true });
  const file = join(logDirectory, `${launch.name}.out`);
  keepEarlier(file);
  const out = openSync(file, "w", 0o600);
  try {
    const child = spawnProcess(launch, { detached: true, stdio: ["ignore", out, out] });
    await once(child, "spawn");
    child.unref();
    return {
      pid: child.pid as number,
      /** undefined while it runs; a signal has no exit code. */
      get ended() {
        const { exitCode, signalCode } = child;
        return exitCode === null && signalCode === null ? undefined : { exitCode, signalCode };
      },
      /** The process's standard output and error so far. */
      output: () => readFileSync(file, "utf8").trim(),
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
