import { sleep } from "../../../../shared/time.ts";
import type { Process } from "./process.ts";

/** Before the lines go down: the last acknowledgement has to be out of them by then. */
const LAST_WORD_MS = 100;

/** Restarts at the end of a command, which its completion has told already. */
export async function restart({ parts, signal }: Process): Promise<void> {
  await sleep(parts.clock, "last word before the restart", LAST_WORD_MS, signal);
  parts.reboot();
}

/** The next HH:MM of the daily restart (docs/zvt.md 10.4, tag 35), on the terminal's own clock. */
export function nextRestart(now: Date, restartAt: string | null): Date | undefined {
  if (restartAt === null) return undefined;
  const next = new Date(now);
  next.setHours(Number(restartAt.slice(0, 2)), Number(restartAt.slice(3, 5)), 0, 0);
  if (next <= now) next.setDate(next.getDate() + 1);
  return next;
}
