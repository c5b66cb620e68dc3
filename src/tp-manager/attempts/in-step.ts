import type { AttemptStore } from "./attempt-store.ts";
import type { Attempt } from "./payment.ts";
import { sameReport } from "./recovery-policy.ts";

/** Turned away customers in a row; with more than these nothing is claimed. */
const ATTEMPTS_LOOKED_AT = 50;

/**
 * Whether journal and terminal agree on everything before this attempt: nothing else is unsettled,
 * and the last transaction that the terminal told just before it is the last one that was settled
 * here. Only then may a terminal be asked to undo what the two do not share (docs/design.md 3.13).
 */
export function inStep(
  attempts: Pick<AttemptStore, "unfinished" | "list">,
  { transactionId, baseline }: Attempt,
): boolean {
  const others = attempts.unfinished().filter((open) => open.transactionId !== transactionId);
  if (others.length > 0 || !baseline) return false;
  const page = { sinceMs: 0, status: null, limit: ATTEMPTS_LOOKED_AT, before: null };
  const last = attempts
    .list(page)
    .map(({ attempt }) => attempt.state)
    .find(({ phase }) => phase === "charged" || phase === "reversed");
  if (!last) return baseline.last.kind === "none";
  return (
    last.phase === "charged" &&
    baseline.last.kind === "transaction" &&
    sameReport(last.report, baseline.last.report)
  );
}
