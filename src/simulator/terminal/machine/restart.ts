/** The next HH:MM of the daily restart (zvt.md 10, tag 35), on the terminal's own clock. */
export function nextRestart(now: Date, restartAt: string | null): Date | undefined {
  if (restartAt === null) return undefined;
  const next = new Date(now);
  next.setHours(Number(restartAt.slice(0, 2)), Number(restartAt.slice(3, 5)), 0, 0);
  if (next <= now) next.setDate(next.getDate() + 1);
  return next;
}
