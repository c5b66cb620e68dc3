import { spawn } from "node:child_process";
import { programFile } from "../version-files.ts";

/** A limit, because a write-ahead log cannot begin anew while its database is copied. */
const COPY_LIMIT_MS = 3_600_000;

/** Instead of a name: the program gets the file open. */
export const OPEN_FILE = "-";
/** The descriptor of that file in the program. */
export const OPEN_FILE_AT = 3;

interface Copying {
  /** Rejects with the error text of the program. */
  readonly done: Promise<void>;
  /** Ends the program; the copy is not needed any more. */
  kill(): void;
}

/**
 * Copies a database in a program of its own (copy-database.ts), so that payments go on meanwhile.
 * `from`: its name, or the descriptor of an open file that holds all of it.
 */
export function startCopying(from: string | number, to: string): Copying {
  const [name, files] = typeof from === "number" ? [OPEN_FILE, [from]] : [from, []];
  const program = spawn(process.execPath, [programFile("copy-database"), name, to], {
    stdio: ["ignore", "ignore", "pipe", ...files],
    timeout: COPY_LIMIT_MS,
    windowsHide: true,
  });
  let errors = "";
  program.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const done = new Promise<void>((resolve, reject) => {
    program.once("error", reject);
    program.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`the copying program ended with ${signal ?? code}: ${errors}`));
    });
  });
  return { done, kill: () => void program.kill("SIGKILL") };
}
