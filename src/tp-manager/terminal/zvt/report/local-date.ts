/** Returns the year that brings a day nearest to now, as ZVT sends none (docs/zvt.md 7.1). */
function yearOfLocalDate(dateMmdd: string, nowMs: number): number {
  const month = Number(dateMmdd.slice(0, 2));
  const day = Number(dateMmdd.slice(2, 4));
  const now = new Date(nowMs).getFullYear();
  const distanceMs = (year: number): number =>
    Math.abs(new Date(year, month - 1, day, 12).getTime() - nowMs);
  return [now, now - 1, now + 1].reduce((best, year) =>
    distanceMs(year) < distanceMs(best) ? year : best,
  );
}

/** Returns DDMMYY of a local MMDD; "" when that is no day. */
export function localDateDdmmyy(dateMmdd: string | undefined, nowMs: number): string {
  if (!dateMmdd || !isDay(dateMmdd)) return "";
  const year = String(yearOfLocalDate(dateMmdd, nowMs) % 100).padStart(2, "0");
  return dateMmdd.slice(2, 4) + dateMmdd.slice(0, 2) + year;
}

function isDay(dateMmdd: string): boolean {
  return /^(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/.test(dateMmdd);
}

/**
 * Returns the terminal's local time minus ours, milliseconds, from tags 1F0E (YYYYMMDD) and 1F0F
 * (HHMMSS); null when one of them is missing or malformed.
 */
export function clockOffsetMs(
  date: string | undefined,
  time: string | undefined,
  nowMs: number,
): number | null {
  if (!/^\d{8}$/.test(date ?? "") || !/^\d{6}$/.test(time ?? "")) return null;
  const part = (text: string | undefined, from: number, to: number): number =>
    Number(text?.slice(from, to));
  const terminalTime = new Date(
    part(date, 0, 4),
    part(date, 4, 6) - 1,
    part(date, 6, 8),
    part(time, 0, 2),
    part(time, 2, 4),
    part(time, 4, 6),
  );
  return terminalTime.getTime() - nowMs;
}
