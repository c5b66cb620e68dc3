import { join } from "node:path";
import type { z } from "zod";
import type { Program } from "../../../shared/ipc/contract.ts";
import { cleanLine } from "../../../shared/masking/log-cleaning.ts";
import type { Installation } from "../../../shared/process/installation.ts";
import { linesAtEnd, logLevels } from "../../../shared/process/log-file.ts";
import type { logLine } from "../openapi/console.ts";

type LogLevel = (typeof logLevels)[number];

export interface LogQuery {
  readonly program: Program;
  /** The lowest level that is listed. */
  readonly level: LogLevel;
  /** The text that a line must have, in small or capital letters. */
  readonly contains: string;
  readonly limit: number;
}

export type LogLine = z.input<typeof logLine>;

/** How much of the end of a log is read: some hours of a busy kiosk. */
const BYTES_MAX = 1024 * 1024;

/** Returns the lines of a log that match, newest first; none if there is no log. */
export async function readLog(
  { logDirectory }: Installation,
  { program, level, contains, limit }: LogQuery,
): Promise<LogLine[]> {
  const wanted = contains.toLowerCase();
  const least = logLevels.indexOf(level);
  const lines = (await linesAtEnd(join(logDirectory, `${program}.log`), BYTES_MAX))
    .split("\n")
    .reverse();
  const found: LogLine[] = [];
  for (const line of lines) {
    if (found.length >= limit) break;
    if (!line.toLowerCase().includes(wanted)) continue;
    // The cleaned line is searched again, so that no search finds what was masked.
    const clean = cleanLine(line);
    if (!clean.toLowerCase().includes(wanted)) continue;
    const read = lineOf(clean);
    if (read && logLevels.indexOf(read.level) >= least) found.push(read);
  }
  return found;
}

/** Returns a line of the log; undefined: the logger did not write it. */
function lineOf(line: string): LogLine | undefined {
  try {
    const { level, time, program: _, msg = "", area = null, ...others } = JSON.parse(line);
    if (!logLevels.includes(level)) return undefined;
    const more = Object.keys(others).length === 0 ? "" : JSON.stringify(others);
    const text = area === null ? null : String(area);
    return { at: String(time), level, area: text, message: String(msg), more };
  } catch {
    return undefined;
  }
}
