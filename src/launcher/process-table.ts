import { execFile } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { defaultDataDirectory } from "../shared/installation.ts";
import type { Part } from "./part.ts";

/**
 * Which processes belong to an installation, asked of the operating system each time. Nothing is
 * remembered in files, so no pid can be stale or belong to somebody else by now: a process is ours
 * when it runs our script with our data folder.
 */

interface Entry {
  readonly pid: number;
  /** What relative arguments are relative to. */
  readonly directory: string;
  readonly args: readonly string[];
}

/** The pids of the processes that run this part of this installation, started by whomever. */
export async function findProcesses(part: Part): Promise<number[]> {
  const entries = await listProcesses(part);
  return entries.filter((entry) => isPart(entry, part)).map(({ pid }) => pid);
}

function isPart({ directory, args }: Entry, part: Part): boolean {
  const script = args.findIndex(
    (arg, i) => i > 0 && samePath(resolve(directory, arg), part.script),
  );
  if (script < 0) return false;
  const given = args.slice(script + 1).map((arg) => arg.replace(/^--[a-z-]+=/, ""));
  if (given.some((arg) => samePath(resolve(directory, arg), part.mark))) return true;
  return part.mark === defaultDataDirectory && !args.some((arg) => /^--data(=|$)/.test(arg));
}

function samePath(a: string, b: string): boolean {
  return process.platform === "win32" ? a.toLowerCase() === b.toLowerCase() : a === b;
}

/** Whether a process is still there. One that has ended and only waits to be reaped is not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  if (process.platform !== "linux") return true;
  try {
    // proc(5): the state is the first field behind the name, which may itself hold parentheses.
    return !/\) [ZX] [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function listProcesses(part: Part): Promise<Entry[]> {
  if (process.platform === "linux") return listProc();
  return process.platform === "win32" ? await listWindows() : await listPs(part);
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
      return []; // it has ended meanwhile, or is none of ours
    }
  });
}

const run = promisify(execFile);
const LIST_WITHIN_MS = 20_000;
const LIST_BYTES_MAX = 16 * 1024 * 1024;

/** Windows keeps one command line per process; it is cut into arguments as node.exe cuts it. */
async function listWindows(): Promise<Entry[]> {
  const script =
    "[Console]::OutputEncoding = [Text.Encoding]::UTF8; Get-CimInstance Win32_Process " +
    "-Filter \"Name = 'node.exe'\" | Select-Object ProcessId, CommandLine | ConvertTo-Json";
  const { stdout } = await run(
    "powershell.exe",
    ["-NoProfile", "-NonInteractive", "-Command", script],
    { windowsHide: true, timeout: LIST_WITHIN_MS, maxBuffer: LIST_BYTES_MAX },
  );
  const listed: unknown = stdout.trim() === "" ? [] : JSON.parse(stdout);
  const rows = (Array.isArray(listed) ? listed : [listed]) as Array<{
    ProcessId: number;
    CommandLine: string | null;
  }>;
  return rows.map(({ ProcessId, CommandLine }) => ({
    pid: ProcessId,
    directory: process.cwd(),
    args: splitCommandLine(CommandLine ?? ""),
  }));
}

/** Quotes group, a backslash before a quote escapes it (CommandLineToArgvW, without rarities). */
export function splitCommandLine(line: string): string[] {
  return [...line.matchAll(/(?:[^\s"]|"(?:\\"|[^"])*"?)+/g)].map(([arg]) =>
    arg.replace(/\\?"/g, (quote) => quote.slice(1)),
  );
}

/** ps joins the arguments with spaces: what the launcher itself starts is recognised whole. */
async function listPs(part: Part): Promise<Entry[]> {
  const { stdout } = await run("ps", ["-axww", "-o", "pid=,command="], {
    timeout: LIST_WITHIN_MS,
    maxBuffer: LIST_BYTES_MAX,
  });
  return stdout.split("\n").flatMap((line) => {
    const [, pid, command] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    const at = command?.indexOf(` ${part.script} `) ?? -1;
    if (pid === undefined || command === undefined || at < 0) return [];
    const rest = command.slice(at + part.script.length + 2);
    const args = [
      "node",
      part.script,
      ...(` ${rest} `.includes(` ${part.mark} `) ? [part.mark] : [rest]),
    ];
    return [{ pid: Number(pid), directory: process.cwd(), args }];
  });
}
