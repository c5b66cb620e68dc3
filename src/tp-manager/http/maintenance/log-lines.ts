import { join } from "node:path";
import { z } from "zod";
import { cleanLine } from "../../../shared/masking/log-cleaning.ts";
import type { Installation } from "../../../shared/process/installation.ts";
import { linesAtEnd, logLevels } from "../../../shared/process/log-file.ts";
import { oneOf, pageLimit } from "../body/input.ts";
import type { logLine } from "../openapi/console.ts";

/** The most lines that one call lists. */
const LINES_MAX = 1_000;

export const logQuery = z.strictObject({
  program: oneOf(["tp-manager", "supervisor"]).default("tp-manager"),
  /** The least severe level that is listed. */
  level: oneOf(logLevels).default("info"),
  /** The text that a line must have, in small or capital letters. */
  contains: z.string().max(200, "is too long").default(""),
  limit: pageLimit(LINES_MAX),
});
export type LogQuery = z.output<typeof logQuery>;

export type LogLine = z.input<typeof logLine>;

/** How many bytes at the end of a log are read: some hours of a busy kiosk. */
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
    // The masked line is searched as well, so that no search finds what masking removed.
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
