import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { installationRoot } from "../../shared/version-files.ts";
import type { Launch } from "./process-table.ts";

/** The size in megabytes of each of V8's two halves for new objects; a small size saves memory. */
const YOUNG_GENERATION_HALF_MB = 2;
/** The number of the C library's memory pools; a pool for each thread would keep more memory. */
const ALLOCATION_POOLS = 2;
/**
 * The C library gives freed memory blocks of at least this many bytes, such as those of compiling,
 * back to the system at once. SQLite's blocks are smaller, and stay for its next statement. Only
 * tp-manager has this setting, because the supervisor's buffers for answers have this size.
 */
const GIVEN_BACK_FROM = 32_768;

/** Returns switches of Node.js and an environment that keep a process's memory small. */
export function smallMemoryOf(name: string) {
  const pools = { MALLOC_ARENA_MAX: String(ALLOCATION_POOLS) };
  const environment: Readonly<Record<string, string>> =
    name === "tp-manager" ? { ...pools, MALLOC_MMAP_THRESHOLD_: String(GIVEN_BACK_FROM) } : pools;
  return { switches: [`--max-semi-space-size=${YOUNG_GENERATION_HALF_MB}`], environment };
}

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
 * Starts a process that outlives the launcher, in a session of its own and without a window. The
 * process's output goes to `logs/<name>.out` and has only what the program's own log lacks, such as
 * why it did not start. The file of the previous launch is kept as `.out.1`.
 */
export async function launchDetached(launch: Launch, logDirectory: string) {
  mkdirSync(logDirectory, { recursive: true });
  const file = join(logDirectory, `${launch.name}.out`);
  const earlierBytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (earlierBytes > 0) renameSync(file, `${file}.1`);
  const out = openSync(file, "w", 0o600);
  try {
    const child = spawnProcess(launch, { detached: true, stdio: ["ignore", out, out] });
    await once(child, "spawn");
    child.unref();
    return {
      pid: child.pid as number,
      /** How the process ended: by an exit code or a signal; undefined: the process runs. */
      get ended() {
        const { exitCode, signalCode } = child;
        return exitCode === null && signalCode === null ? undefined : { exitCode, signalCode };
      },
      output: () => readFileSync(file, "utf8").trim(),
    };
  } finally {
    closeSync(out);
  }
}
