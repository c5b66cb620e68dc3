/** The newest moment of a time of day, hh:mm local time, that is not after now. */
export function lastTimeOfDay(at: string, nowMs: number): number {
  const [hours = 0, minutes = 0] = at.split(":").map(Number);
  const day = new Date(nowMs);
  day.setHours(hours, minutes, 0, 0);
  if (day.getTime() > nowMs) day.setDate(day.getDate() - 1);
  return day.getTime();
}
