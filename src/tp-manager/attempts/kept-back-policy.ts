import type { ErrorCode } from "../../shared/errors.ts";
import type { TransactionReport } from "../terminal/terminal.ts";
import { type Attempt, endReportOf, isCharged, isNotCharged } from "./payment.ts";
import { isReference } from "./reference-policy.ts";
import type { StrayRow } from "./terminal-log.ts";

/**
 * Attempts whose result the terminal may still have for us: in doubt, and none that was begun later
 * has had its own result since, because results are told in their order (docs/design.md 3.25).
 * `earlier`: all before the one of now, the newest first.
 */
export function mayBeKeptBack(earlier: Iterable<Attempt>): Attempt[] {
  const keptBack: Attempt[] = [];
  for (const attempt of earlier) {
    const { state } = attempt;
    // In doubt by a result that came behind the one it was told with.
    const hadTwo = state.phase === "in-doubt" && state.told !== undefined;
    if (hadTwo || hadItsResult(attempt)) break;
    if (state.phase === "in-doubt") keptBack.push(attempt);
  }
  return keptBack;
}

/** Of results; with the terminal's code, because our own cancel and a proof have none. */
const errorsOfResults: ReadonlySet<ErrorCode> = new Set([
  ...(["PAYMENT_DECLINED", "PAYMENT_CANCELLED", "CUSTOMER_TIMEOUT"] as const),
  ...(["TERMINAL_FAULT", "CURRENCY_REFUSED"] as const),
]);

/** By the terminal's word within its payment; an operator's or a later word proves no order. */
function hadItsResult({ state }: Attempt): boolean {
  if (isCharged(state)) return state.by === "payment" && !state.settled && !state.late;
  if (!isNotCharged(state) || state.settled) return false;
  const { error, terminalCode } = state.outcome;
  return terminalCode !== null && errorsOfResults.has(error);
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

/** More of one amount without a result than a terminal that names its results leaves behind. */
const KEPT_BACK_MAX = 1;

/**
 * Those of `keptBack` beside which no sale of their amount is begun, because its result could be
 * told from theirs by nothing, and its customer would be charged in vain (docs/design.md 3.25).
 */
export function notToldApart(keptBack: readonly Attempt[], isNameless: boolean): Attempt[] {
  const ofAmount = ({ request: { amountMinor } }: Attempt): number =>
    keptBack.filter(({ request }) => request.amountMinor === amountMinor).length;
  return keptBack.filter((attempt) => isNameless || ofAmount(attempt) > KEPT_BACK_MAX);
}

/**
 * Whether this terminal's results name no attempt, as far as the newest that it told says; false
 * while it told none. The newest first; a stray is a result that was taken for no attempt's.
 */
export function namesNothing(
  attempts: Iterable<Attempt>,
  strays: Iterable<Pick<StrayRow, "atMs" | "report">>,
): boolean {
  const told = newestTold(attempts);
  for (const { atMs, report } of strays) {
    if (told && atMs < told.startedAtMs) break;
    if (report.resultCode !== null && isNameless(report.reference)) return true;
  }
  return told !== undefined && isNameless(told.reference);
}

function newestTold(
  attempts: Iterable<Attempt>,
): { readonly reference: string | null; readonly startedAtMs: number } | undefined {
  for (const { state, startedAtMs } of attempts) {
    const { reference, resultCode } = toldIn(state) ?? {};
    if (reference !== undefined && resultCode != null) return { reference, startedAtMs };
  }
  return undefined;
}

/** undefined: not told by a terminal that could give a reference back. */
function isNameless(reference: string | null | undefined): boolean {
  return reference === null || (reference !== undefined && !isReference(reference));
}

function toldIn(state: Attempt["state"]): TransactionReport | undefined {
  return endReportOf(state) ?? ("last" in state ? state.last?.report : undefined);
}
