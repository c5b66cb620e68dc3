import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Program } from "../../shared/ipc/contract.ts";
import { isPidInUse, presentProcesses } from "../../shared/process/presence.ts";
import {
  defaultDataDirectory,
  isProgramFile,
  programFile,
  programFileOf,
} from "../../shared/version-files.ts";

/**
 * Which processes belong to an installation, asked of the operating system each time: no pid is
 * remembered that could be stale or belong to another process by now. A process belongs to a data
 * folder, whatever version it is of: on Linux it runs the script of that part with that folder,
 * elsewhere it holds its lock there (presence.ts).
 */

interface Entry {
  readonly pid: number;
  /** The folder that relative arguments are relative to. */
  readonly directory: string;
  readonly args: readonly string[];
}

/** The pids of the processes that run this part of this installation, started by whomever. */
export function findProcesses(spec: ProcessSpec): number[] {
  if (process.platform !== "linux") return presentProcesses(spec.presence);
  return listProc()
    .filter((entry) => isOf(entry, spec))
    .map(({ pid }) => pid);
}

function isOf({ directory, args }: Entry, spec: ProcessSpec): boolean {
  const script = args.findIndex(
    (arg, i) => i > 0 && isProgramFile(resolve(directory, arg), spec.name),
  );
  if (script < 0) return false;
  const file = resolve(directory, args[script] ?? "");
  const given = args.slice(script + 1).map((arg) => arg.replace(/^--[a-z-]+=/, ""));
  if (given.some((arg) => resolve(directory, arg) === spec.mark)) return true;
  const isDefault = spec.mark === defaultDataDirectory && file === spec.script;
  return isDefault && !args.some((arg) => /^--data(=|$)/.test(arg));
}

/**
 * Whether a process is still there. A process that has ended and only waits to be reaped is not.
 */
export function isRunning(pid: number): boolean {
  if (!isPidInUse(pid)) return false;
  if (process.platform !== "linux") return true;
  try {
    // proc(5): the state is the first field after the name, which may itself hold parentheses.
    return !/\) [ZX] [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

function listProc(): Entry[] {
  const user = process.getuid?.() ?? 0;
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // Only root may stop what belongs to others.
      if (user !== 0 && statSync(`/proc/${name}`).uid !== user) return [];
      const args = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").slice(0, -1);
      if (args.length < 2) return [];
      return [{ pid: Number(name), directory: readlinkSync(`/proc/${name}/cwd`), args }];
    } catch {
      return []; // the process has ended meanwhile, or is none of ours
    }
  });
}

export type ProcessName = Program | "terminal-simulator" | "gateway-sandbox";

/** How a process is started. */
export interface Launch {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  /** The runtime of another version's program; missing: the one that runs here. */
  readonly runtime?: string;
}

/** One process of an installation: how it is started, and how it is recognised. */
export interface ProcessSpec extends Launch {
  readonly name: ProcessName;
  /** The argument by which this installation's process differs from another installation's. */
  readonly mark: string;
  /** Its announcement where the system lists no arguments (shared/process/presence.ts). */
  readonly presence: string;
}

export interface ProgramSpec extends ProcessSpec {
  readonly name: Program;
  readonly runDirectory: string;
}

/** In the order of their stop: tp-manager hands its last payment to the supervisor. */
export const programNames: readonly Program[] = ["tp-manager", "supervisor"];

export function programSpec(name: Program, dataDirectory: string): ProgramSpec {
  const runDirectory = join(dataDirectory, "run");
  return {
    name,
    script: programFile(name),
    args: ["--data", dataDirectory],
    mark: dataDirectory,
    runDirectory,
    presence: join(runDirectory, name),
  };
}

/** Both programs; `other`: as that version runs them. */
export function programSpecs(
  dataDirectory: string,
  other?: { readonly version: string; readonly runtime: string },
): ProgramSpec[] {
  return programNames.map((name) => {
    const own = programSpec(name, dataDirectory);
    if (!other) return own;
    return { ...own, script: programFileOf(other.version, name), runtime: other.runtime };
  });
}
