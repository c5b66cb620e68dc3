import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";

export interface RunProcess {
  readonly pid: number;
  readonly parent: number;
  readonly args: string;
}

const REAPER = "support/reaper.ts";

/** Ends every other process of the run and removes its folder. */
export function reap(folder: string): void {
  // One that is just starting another may be too late for the first look.
  for (let round = 0; round < 3; round++) for (const { pid } of processesOf(folder)) endAtOnce(pid);
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // A disk that a test has mounted there, perhaps; the processes are what matters.
  }
}

/**
 * The other processes whose environment, arguments or working folder name the folder of a run
 * (Linux), without the reaper.
 */
export function processesOf(folder: string): RunProcess[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      try {
        const read = (file: string): string => readFileSync(`/proc/${name}/${file}`, "utf8");
        const args = read("cmdline").replaceAll("\0", " ");
        const all = [args, read("environ"), readlinkSync(`/proc/${name}/cwd`)];
        if (!all.some((text) => text.includes(folder)) || args.includes(REAPER)) return [];
        // proc(5): the parent is the second field after the name in brackets.
        const parent = Number(read("stat").split(") ").at(-1)?.split(" ")[1]);
        return [{ pid: Number(name), parent, args }];
      } catch {
        return []; // gone meanwhile, or another user's
      }
    });
}

function endAtOnce(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // gone meanwhile
  }
}
