/** Why the connection is not there. */
export type LostBecause =
  /** No connection, a refused login, a broker that stops or falls silent. */
  | "trouble"
  /** Another client has the same name: each would throw out the other without end. */
  | "taken-over";

const FIRST_MS = 1_000;
const LONGEST_MS = 15 * 60_000;
const TWIN_MS = 10 * 60_000;

/**
 * How long to wait before the next try to connect. From half of the ceiling up to the ceiling:
 * after a long outage a thousand kiosks then come back evenly spread over the longest wait, and
 * not most of them in its first minutes, as with a wait that may be nothing.
 */
export function reconnectDelayMs(because: LostBecause, failures: number, chance: number): number {
  const doubled = FIRST_MS * 2 ** Math.min(Math.max(failures - 1, 0), 20);
  const ceiling = Math.min(doubled, LONGEST_MS);
  const longest = because === "taken-over" ? Math.max(ceiling, TWIN_MS) : ceiling;
  return longest * (0.5 + chance / 2);
}
