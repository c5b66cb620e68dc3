/** When a notification that met no answer, or a 5xx, is sent again. No I/O here. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/**
 * The real schedule is not public (docs/gateway.md 3.6): short pauses first, for shops that were
 * only locked, long ones for those that are down.
 */
const pausesMs: readonly number[] = [
  2 * SECOND_MS,
  10 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  60 * MINUTE_MS,
];

/** The pause after so many attempts, or nothing when it is given up. */
export function pauseAfterMs(attempts: number): number | undefined {
  return pausesMs[attempts - 1];
}

export type DeliveryState = "waiting" | "delivered" | "refused" | "given-up";

/**
 * Only the status counts, bodies are free text (docs/gateway.md 3.5). No status means that there
 * was no answer.
 */
export function stateAfter(status: number | undefined, attempts: number): DeliveryState {
  if (status !== undefined && status >= 200 && status < 300) return "delivered";
  if (status !== undefined && status < 500) return "refused";
  return pauseAfterMs(attempts) === undefined ? "given-up" : "waiting";
}
