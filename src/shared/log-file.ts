import { mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { DestinationStream } from "pino";

/** Others of the group may read a log; nobody else. It holds no secrets. */
const LOG_FILE_MODE = 0o640;

/**
 * Appends whole lines to a file, each written before the call returns: a crash loses no line. A
 * line that cannot be written, on a full disk for example, never breaks what is being logged: it is
 * counted, standard error hears of it once, and the count stands in the file when writing works
 * again.
 */
export function openLogFile(path: string): DestinationStream {
  mkdirSync(dirname(path), { recursive: true });
  const descriptor = openSync(path, "a", LOG_FILE_MODE);
  let lost = 0;
  let rest = "";
  const append = (text: string): void => {
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(descriptor, bytes, written);
      // What follows a line that was cut begins on a line of its own.
      rest = written < bytes.length ? "\n" : "";
    }
  };
  return {
    write(line) {
      try {
        if (lost > 0) append(`${rest}{"level":"error","msg":"${lost} log lines lost"}\n`);
        lost = 0;
        append(line);
      } catch (error) {
        if (lost === 0) {
          process.stderr.write(`cannot write the log ${path}: ${(error as Error).message}\n`);
        }
        lost++;
      }
    },
  };
}
