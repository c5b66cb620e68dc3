import type { AttemptStore } from "../attempts/attempt-store.ts";
import { compareReports, compareStored, sameTerminal } from "../matching/comparison.ts";
import { canBeReversalOf } from "../matching/doubt.ts";
import { newestAttempts } from "../attempts/newest-attempts.ts";
import { type Attempt, saleOf } from "../attempts/payment.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { reversalBeganAtMs } from "../attempts/steps.ts";
import type { Baseline, TransactionReport } from "../terminal/terminal.ts";

/** Attempts at other terminals, or of which nothing was sent, are passed over. */
const ATTEMPTS_LOOKED_AT = 20;

type Journal = Pick<AttemptStore, "newest" | "orderOfReport">;

/**
 * A good transaction that the terminal has stored since the last attempt at it began, and that
 * certainly belongs to no order: a sale whose report never came (docs/design.md 3.19). undefined:
 * there is none, or nobody can tell. Throws when the journal fails.
 */
export function unknownSale(attempts: Journal, now: Baseline): TransactionReport | undefined {
  if (now.last.kind !== "transaction") return undefined;
  const { report } = now.last;
  if (!report.good || report.originalTrace !== null) return undefined;
  if (isNewest(attempts, report)) return undefined;
  const newest = [...newestAttempts(attempts, ATTEMPTS_LOOKED_AT)];
  const last = lastAt(newest, now);
  if (!last?.baseline || compareStored(last.baseline.last, now.last) !== "different") {
    return undefined;
  }
  // Of a charge that an operator settled the terminal's record is not known here.
  const sale = saleOf(last.state);
  if (sale && (sale.by === "operator" || compareReports(sale.report, report) !== "different")) {
    return undefined;
  }
  return attempts.orderOfReport(report, "") === undefined ? report : undefined;
}

/** The usual case, which need not look at more: the terminal shows the last sale that is known. */
function isNewest(attempts: Journal, report: TransactionReport): boolean {
  const [newest] = newestAttempts(attempts, ATTEMPTS_LOOKED_AT);
  const sale = newest && saleOf(newest.state);
  return sale !== undefined && compareReports(sale.report, report) === "same";
}

/** The newest attempt that was sent to this terminal. */
function lastAt(newest: readonly Attempt[], { identity }: Baseline): Attempt | undefined {
  return newest.find(
    ({ baseline }) => baseline !== null && sameTerminal(baseline.identity, identity),
  );
}

/** Whether a reversal in doubt may have stored it: its own report was not heard. */
export function mayBeItsReversal(
  { state, transactionId }: Attempt,
  report: TransactionReport,
  attempts: Pick<AttemptStore, "events">,
  limitMs: number,
): boolean {
  if (!isInDoubt(state) || !("sale" in state)) return false;
  const sentAtMs = reversalBeganAtMs(attempts.events(transactionId));
  return canBeReversalOf(state, report, { sentAtMs, limitMs });
}
