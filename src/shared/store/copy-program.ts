import { spawn } from "node:child_process";
import { programFile } from "../version-files.ts";

/** A write-ahead log cannot begin anew while its database is copied. */
const COPY_LIMIT_MS = 3_600_000;

/** In the place of a name: the file is the one that the program gets open. */
export const OPEN_FILE = "-";
/** Where it has it. */
export const OPEN_FILE_AT = 3;

interface Copying {
  /** Rejects with the words of the program. */
  readonly done: Promise<void>;
  /** Of a copy that nobody needs any more. */
  kill(): void;
}

/**
 * Copies a database in a program of its own (copy-database.ts), so that payments go on meanwhile.
 * `from`: its name, or where this process has a file open that lies there as a whole.
 */
export function startCopying(from: string | number, to: string): Copying {
  const [name, files] = typeof from === "number" ? [OPEN_FILE, [from]] : [from, []];
  const program = spawn(process.execPath, [programFile("copy-database"), name, to], {
    stdio: ["ignore", "ignore", "pipe", ...files],
    timeout: COPY_LIMIT_MS,
    windowsHide: true,
  });
  let words = "";
  program.stderr?.setEncoding("utf8").on("data", (text: string) => {
    words += text;
  });
  const done = new Promise<void>((resolve, reject) => {
    program.once("error", reject);
    program.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`the copying program ended with ${signal ?? code}: ${words}`));
    });
  });
  return { done, kill: () => void program.kill("SIGKILL") };
}
