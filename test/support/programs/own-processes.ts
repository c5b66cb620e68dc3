import { type ChildProcess, execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { runFolder } from "../run/run-folder.ts";

const running = new Set<ChildProcess>();

function own<Child extends ChildProcess>(child: Child): Child {
  running.add(child);
  child.once("exit", () => running.delete(child));
  child.once("error", () => running.delete(child));
  return child;
}

/**
 * The only `spawn` of the tests: the process ends with its file, with its test if that fails, and
 * at the latest with the run ({@link runFolder}), whatever becomes of them.
 */
export const startProcess = ((...given: Parameters<typeof spawn>) =>
  own(spawn(...given))) as typeof spawn;

/** `execFile` of the tests, in the same care. */
export async function runToEnd(
  file: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const started = promisify(execFile)(file, args, { ...options, maxBuffer: 2 ** 26 });
  own(started.child);
  return await started;
}

/** Standard output of a program, whatever it ends with; the test's process goes on meanwhile. */
export async function outputOf(file: string, args: readonly string[]): Promise<string> {
  const ended = runToEnd(file, args).catch((error: { readonly stdout: string }) => error);
  return (await ended).stdout;
}

/** Those that run now; give them to {@link endProcesses} to spare them. */
export const runningProcesses = (): readonly ChildProcess[] => [...running];

export function endProcesses(spared: readonly ChildProcess[] = []): void {
  for (const child of running) if (!spared.includes(child)) child.kill("SIGKILL");
}
