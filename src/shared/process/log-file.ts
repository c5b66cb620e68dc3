import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { open as openToRead } from "node:fs/promises";
import { dirname } from "node:path";
import type { DestinationStream } from "pino";
import { type Clock, DAY_MS, systemClock } from "../time.ts";

export const logLevels = ["debug", "info", "warn", "error", "fatal"] as const;

/** The file mode of a log, which its group may read, because a log holds no secrets. */
const LOG_FILE_MODE = 0o640;
/** The size in bytes from which a log file is renamed even before the end of the day. */
const LOG_FILE_BYTES_MAX = 20 * 1024 * 1024;

/**
 * Opens a log file, to which each line is written before the call returns, so that a crash loses
 * none. Lines that cannot be written, as on a full disk, are counted: standard error gets one
 * message, and the file gets the count when writing works again. Each day (UTC), and when it is
 * large, the file is renamed to `<path>.<time>`; daily.ts removes the old files.
 */
export function openLogFile(path: string, clock: Clock = systemClock): DestinationStream {
  mkdirSync(dirname(path), { recursive: true });
  let file = open(path, clock);
  let lost = 0;
  let rest = "";
  const append = (text: string): void => {
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length; ) {
      const count = writeSync(file.descriptor, bytes, written);
      written += count;
      file.bytes += count;
      // If only a part of a line was written, the next line begins with a line break.
      rest = written < bytes.length ? "\n" : "";
    }
  };
  return {
    write(line) {
      try {
        if (file.day !== dayOf(clock.now()) || file.bytes > LOG_FILE_BYTES_MAX) {
          file = rename(path, file, clock);
        }
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

function open(path: string, clock: Clock) {
  const descriptor = openSync(path, "a", LOG_FILE_MODE);
  const { size, mtimeMs } = fstatSync(descriptor);
  return { descriptor, day: dayOf(size > 0 ? mtimeMs : clock.now()), bytes: size };
}

function rename(path: string, file: ReturnType<typeof open>, clock: Clock) {
  const stamp = new Date(clock.now()).toISOString().replace(/\D/g, "").slice(0, 17);
  try {
    renameSync(path, `${path}.${stamp}`);
  } catch {
    // The log is not renamed now: another program has it open (Windows), or the disk is full.
    return { descriptor: file.descriptor, day: dayOf(clock.now()), bytes: 0 };
  }
  const next = open(path, clock);
  closeSync(file.descriptor);
  return { ...next, day: dayOf(clock.now()) };
}

/** Returns the number of days since 1970 (UTC). */
function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** Returns the complete lines in the last `bytesMax` bytes of a log; "": there is no file. */
export async function linesAtEnd(path: string, bytesMax: number): Promise<string> {
  try {
    const file = await openToRead(path);
    try {
      const { size } = await file.stat();
      const length = Math.min(size, bytesMax);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      const text = buffer.subarray(0, bytesRead).toString("utf8");
      return size > length ? text.slice(text.indexOf("\n") + 1) : text;
    } finally {
      await file.close();
    }
  } catch {
    return "";
  }
}
