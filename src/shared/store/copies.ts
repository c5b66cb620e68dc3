import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isoTime } from "../time.ts";

const DAY = "\\d{4}-\\d\\d-\\d\\d";

/**
 * The days of a store's nightly copies, the oldest first. A day in the future is of a wrong clock:
 * such a copy counts as older than the others, so that it is neither put back before them nor kept
 * instead of them (docs/rules/17-loss.md).
 */
export function daysOfCopies(folder: string, store: string, nowMs: number): string[] {
  return namesOf(new RegExp(`^${store}-(${DAY})\\.db$`), folder, nowMs);
}

/**
 * Like {@link daysOfCopies}, with the saved copies (docs/design.md 1.3). The name of a nightly copy
 * has no time, so of one day's copies the file that was written last is the newest.
 */
export function copiesOf(folder: string, store: string, nowMs: number): string[] {
  return namesOf(new RegExp(`^${store}-(${DAY}(?:-saved-\\d{6})?)\\.db$`), folder, nowMs);
}

function namesOf(pattern: RegExp, folder: string, nowMs: number): string[] {
  const files = existsSync(folder) ? readdirSync(folder).sort() : [];
  const today = dayOf(nowMs);
  const copies = files.flatMap((file) => {
    const name = pattern.exec(file)?.[1];
    if (name === undefined) return [];
    const day = name.slice(0, today.length);
    const writtenMs = statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { name, order: `${day > today ? 0 : 1} ${day}`, writtenMs };
  });
  copies.sort(
    (one, other) => one.order.localeCompare(other.order) || one.writtenMs - other.writtenMs,
  );
  return copies.map(({ name }) => name);
}

/** The day, as in the names of copies. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The name of a copy of a database whose file was lost while it was open. */
export function savedName(ms: number): string {
  return `${dayOf(ms)}-saved-${fileTime(ms).slice(11, 19).replaceAll("-", "")}`;
}

/** The time, as in the names of files that are kept under another name. */
export function fileTime(ms: number): string {
  return isoTime(ms).replaceAll(":", "-").slice(0, 23);
}
