import { existsSync, readdirSync } from "node:fs";

/**
 * The days of a store's copies, in the order in which they were made. A day that has not come yet
 * is of a clock that was wrong: such a copy counts as older than the others, so that it is neither
 * put back before them nor kept in their place (docs/design.md 3.17).
 */
export function daysOfCopies(folder: string, store: string, nowMs: number): string[] {
  const named = new RegExp(`^${store}-(\\d{4}-\\d\\d-\\d\\d)\\.db$`);
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const days = files.flatMap((file) => named.exec(file)?.[1] ?? []).sort();
  const today = dayOf(nowMs);
  return [...days.filter((day) => day > today), ...days.filter((day) => day <= today)];
}

/** As in the names of copies. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
