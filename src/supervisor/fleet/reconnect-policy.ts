import type { LostBecause } from "./broker.ts";

const FIRST_MS = 1_000;
/** A broker that restarts loses all its kiosks at once: their first tries are spread so far. */
const SPREAD_MS = 30_000;
const LONGEST_MS = 15 * 60_000;
const TWIN_MS = 10 * 60_000;

/**
 * How long to wait before the next try to connect: a random time up to a ceiling, and at least the
 * wait that doubles with each failure, or half of the ceiling if that is less. After a short outage
 * a thousand kiosks come back spread over {@link SPREAD_MS}, after a long one evenly over the
 * longest wait; with a wait that may be nothing most of them would come in its first minutes.
 */
export function reconnectDelayMs(because: LostBecause, failures: number, random: number): number {
  const doubled = FIRST_MS * 2 ** Math.min(Math.max(failures - 1, 0), 20);
  const atLeast = because === "twin" ? TWIN_MS : SPREAD_MS;
  const ceiling = Math.max(Math.min(doubled, LONGEST_MS), atLeast);
  const least = because === "twin" ? ceiling / 2 : Math.min(doubled, ceiling / 2);
  return least + (ceiling - least) * random;
}
