import type { AttemptStore } from "./attempt-store.ts";
import type { Attempt } from "./payment.ts";

/** Ends of attempts of which nothing had left. */
const neverSent = ["end-not-sent", "end-withdrawn"];

/** Whether the terminal can have a command of this attempt. Throws when the journal fails. */
export function canHaveLeft(
  attempts: Pick<AttemptStore, "events">,
  { transactionId, baseline }: Attempt,
): boolean {
  if (baseline === null) return false;
  return !attempts.events(transactionId).some(({ kind }) => neverSent.includes(kind));
}
