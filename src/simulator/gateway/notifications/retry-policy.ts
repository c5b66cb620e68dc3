/** When an undelivered notification is sent again. No I/O here. */

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

/** The end of an attempt, and the words for it. */
export interface Attempt {
  readonly verdict: "taken" | "refused" | "again";
  readonly words: string;
}

/** Only the status of an answer counts, bodies are free text (docs/gateway.md 3.5). */
export function verdictOf(status: number): Attempt["verdict"] {
  if (status >= 200 && status < 300) return "taken";
  return status < 500 ? "refused" : "again";
}

export function stateAfter(verdict: Attempt["verdict"], attempts: number): DeliveryState {
  if (verdict === "taken") return "delivered";
  if (verdict === "refused") return "refused";
  return pauseAfterMs(attempts) === undefined ? "given-up" : "waiting";
}
