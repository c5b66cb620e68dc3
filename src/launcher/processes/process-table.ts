import { accessSync, constants, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Program } from "../../shared/ipc/contract.ts";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { isPidInUse, presentProcesses } from "../../shared/process/presence.ts";
import { readOr } from "../../shared/read-or.ts";
import {
  defaultDataDirectory,
  isProgramFile,
  programFile,
  programFileOf,
} from "../../shared/version-files.ts";

/**
 * Returns the pids of the processes, of any version, that run this program with this data folder.
 * The operating system is asked each time, because a remembered pid may belong to another process.
 * On Linux the arguments show both; elsewhere a lock in the folder does (presence.ts).
 */
export function findProcesses(spec: ProcessSpec): number[] {
  if (process.platform !== "linux") return presentProcesses(spec.presence);
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && isOf(pid, spec))
    .map(Number);
}

function isOf(pid: string, spec: ProcessSpec): boolean {
  const user = process.getuid?.() ?? 0;
  try {
    // The processes of other users are left out, because only root can stop them.
    if (user !== 0 && statSync(`/proc/${pid}`).uid !== user) return false;
    const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
    const directory = args.length < 2 ? "" : readlinkSync(`/proc/${pid}/cwd`);
    const script = args.findIndex(
      (arg, i) => i > 0 && isProgramFile(resolve(directory, arg), spec.name),
    );
    if (script < 0) return false;
    const given = args.slice(script + 1).map((arg) => arg.replace(/^--[a-z-]+=/, ""));
    if (given.some((arg) => resolve(directory, arg) === spec.mark)) return true;
    const isOwnScript = resolve(directory, args[script] ?? "") === spec.script;
    const isDefault = spec.mark === defaultDataDirectory && isOwnScript;
    return isDefault && !args.some((arg) => /^--data(=|$)/.test(arg));
  } catch {
    return false; // the process has ended meanwhile, or is not one of ours
  }
}

/**
 * Throws when another user runs one of the programs: what root starts in their place would leave
 * files of root, and their own user would see them as stopped.
 */
export function refuseOtherUser(dataDirectory: string): void {
  const user = process.getuid?.();
  for (const pid of programSpecs(dataDirectory).flatMap(findProcesses)) {
    const owner = readOr(user, () => statSync(`/proc/${pid}`).uid);
    if (user === undefined || owner === user) continue;
    const text = `user ${owner} runs the programs, and this is user ${user}: run it as the former`;
    throw new ProgramExit(exitCodes.usage, text);
  }
}

/** Whether a folder exists and this user has no right to read it. */
export function isForbidden(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** Whether a process runs; a zombie, which has ended and waits for its parent, does not run. */
export function isRunning(pid: number): boolean {
  if (!isPidInUse(pid)) return false;
  if (process.platform !== "linux") return true;
  // proc(5): the state is the first field after the name, and a name may contain parentheses.
  return readOr(false, () => !/\) [ZX] [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
}

export type ProcessName = Program | "terminal-simulator" | "gateway-sandbox";

export interface Launch {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  /** The path of the Node.js that runs the script; missing: the Node.js of this process. */
  readonly runtime?: string;
}

export interface ProcessSpec extends Launch {
  readonly name: ProcessName;
  /** The argument, a path in the data folder, that only processes of this installation have. */
  readonly mark: string;
  /** The file by which the process is found where no arguments can be read (presence.ts). */
  readonly presence: string;
}

export interface ProgramSpec<P extends Program = Program> extends ProcessSpec {
  readonly name: P;
  readonly runDirectory: string;
}

/** The programs in the order of their stop: tp-manager first, to hand off its last payment. */
export const programNames: readonly Program[] = ["tp-manager", "supervisor"];

export function programSpec<P extends Program>(name: P, dataDirectory: string): ProgramSpec<P> {
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

/** Returns how to start both programs, or with `other` the programs of another version. */
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
