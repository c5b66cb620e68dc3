import { execFile } from "node:child_process";
import { userInfo } from "node:os";
import { win32 } from "node:path";
import { promisify } from "node:util";
import { readOr } from "../../shared/read-or.ts";

const run = promisify(execFile);
/** The time limit for a tool, which waits for ever when the service that it asks does not start. */
const ANSWER_WITHIN_MS = 30_000;

/**
 * Runs a program of Windows itself, by its full path: Windows looks for a bare name in the working
 * folder first, where anybody may have put one. Answers what the program has printed.
 */
export async function runSystemTool(name: string, ...args: string[]): Promise<string> {
  const system = process.env["SystemRoot"] ?? "C:\\Windows";
  const { stdout } = await run(win32.join(system, "System32", `${name}.exe`), args, {
    windowsHide: true,
    timeout: ANSWER_WITHIN_MS,
  });
  return stdout;
}

/** The error text of a tool, in the machine's language; else why it was not run. */
export function toolFault(error: unknown): string {
  const { stderr = "", message } = error as Error & { stderr?: string };
  return stderr.trim() || message;
}

/** The name of this user, or its number: a container may run under a number without a name. */
export function userName(): string {
  return readOr(`user ${process.getuid?.() ?? "unknown"}`, () => userInfo().username);
}
