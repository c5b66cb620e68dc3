import type { TransactionReport } from "../terminal/terminal.ts";
import { type Attempt, endReportOf, isCharged, isNotCharged } from "./payment.ts";
import { isReference } from "./reference-policy.ts";

/**
 * Attempts whose result the terminal may still have for us: in doubt, and none that was begun later
 * has had its own result since, because results are told in their order (docs/design.md 3.25).
 * `earlier`: all before the one of now, the newest first.
 */
export function mayBeKeptBack(earlier: Iterable<Attempt>): Attempt[] {
  const keptBack: Attempt[] = [];
  for (const attempt of earlier) {
    if (hadItsResult(attempt)) break;
    if (attempt.state.phase === "in-doubt") keptBack.push(attempt);
  }
  return keptBack;
}

/** By the terminal's word within its payment; an operator's or a later word proves no order. */
function hadItsResult({ state }: Attempt): boolean {
  if (isCharged(state)) return state.by === "payment" && !state.settled && !state.late;
  return isNotCharged(state) && state.outcome.status === "declined" && !state.settled;
}

/** Whether a clear result that names no attempt of ours can be the one of these that is theirs. */
export function mayBeOfEarlier(
  { reference, good, resultCode, amountMinor }: TransactionReport,
  keptBack: readonly Attempt[],
): boolean {
  if (resultCode === null || (reference != null && isReference(reference))) return false;
  const saysNothing = amountMinor === null || (!good && amountMinor === 0);
  return keptBack.some(({ request }) => saysNothing || amountMinor === request.amountMinor);
}

/**
 * Whether this terminal's results name no attempt, as far as the newest that it told says; false
 * while it told none. `attempts`: the newest first.
 */
export function namesNothing(attempts: Iterable<Attempt>): boolean {
  for (const { state } of attempts) {
    const { reference, resultCode } = toldIn(state) ?? {};
    if (reference === undefined || resultCode == null) continue;
    return reference === null || !isReference(reference);
  }
  return false;
}

function toldIn(state: Attempt["state"]): TransactionReport | undefined {
  return endReportOf(state) ?? ("last" in state ? state.last?.report : undefined);
}
