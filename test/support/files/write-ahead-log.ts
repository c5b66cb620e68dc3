import { existsSync, readFileSync } from "node:fs";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const SALT_AT = 16;
const SALT_BYTES = 8;

interface LogCount {
  /** Changes when SQLite begins the log anew, after all of it was copied into the database. */
  readonly salt: string;
  /** Each of them is synced (docs/design.md 2.1). */
  readonly commits: number;
  readonly pages: number;
}

/** Counts the commits and the page writes in the write-ahead log of a database, by its format. */
export function countLog(databasePath: string): LogCount {
  const path = `${databasePath}-wal`;
  const log = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  if (log.length < HEADER_BYTES) return { salt: "", commits: 0, pages: 0 };
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.toString("hex", SALT_AT, SALT_AT + SALT_BYTES);
  let commits = 0;
  let pages = 0;
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    // After the last frame stand frames from before the log was begun anew.
    if (log.toString("hex", at + 8, at + 8 + SALT_BYTES) !== salt) break;
    pages += 1;
    if (log.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return { salt, commits, pages };
}

/**
 * What was written between two counts of the same databases; undefined when a log was begun anew in
 * between, because then the counts do not show it.
 */
export function writtenSince(
  before: readonly LogCount[],
  after: readonly LogCount[],
): Array<Pick<LogCount, "commits" | "pages">> | undefined {
  if (after.some(({ salt }, i) => salt !== before[i]?.salt)) return undefined;
  return after.map(({ commits, pages }, i) => ({
    commits: commits - (before[i]?.commits ?? 0),
    pages: pages - (before[i]?.pages ?? 0),
  }));
}
