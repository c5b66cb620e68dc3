import { execFile } from "node:child_process";
import { userInfo } from "node:os";
import { win32 } from "node:path";
import { promisify } from "node:util";
import { readOr } from "../../shared/read-or.ts";

const run = promisify(execFile);
/** The time limit of a tool in ms: it would wait for ever for a service that does not start. */
const ANSWER_WITHIN_MS = 30_000;

/**
 * Runs a program of Windows itself and returns its output. The full path is used, because Windows
 * would first look for a bare name in the working folder, where anybody may have put a program.
 */
export async function runSystemTool(name: string, ...args: string[]): Promise<string> {
  const system = process.env["SystemRoot"] ?? "C:\\Windows";
  const { stdout } = await run(win32.join(system, "System32", `${name}.exe`), args, {
    windowsHide: true,
    timeout: ANSWER_WITHIN_MS,
  });
  return stdout;
}

/** Returns the error text of a tool, in the machine's language, or why the tool was not run. */
export function toolFault(error: unknown): string {
  const { stderr = "", message } = error as Error & { stderr?: string };
  return stderr.trim() || message;
}

/** Returns the name of this user, or the number of a user without a name, as in a container. */
export function userName(): string {
  return readOr(`user ${process.getuid?.() ?? "unknown"}`, () => userInfo().username);
}
