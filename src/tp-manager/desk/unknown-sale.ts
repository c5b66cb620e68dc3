import type { AttemptStore } from "../attempts/attempt-store.ts";
import { compareReports, compareStored, sameTerminal } from "../attempts/comparison-policy.ts";
import { type Attempt, saleOf } from "../attempts/payment.ts";
import type { Baseline, TransactionReport } from "../terminal/terminal.ts";

/** Attempts at other terminals, or of which nothing was sent, are passed over. */
const ATTEMPTS_LOOKED_AT = 20;

type Journal = Pick<AttemptStore, "list" | "orderOfReport">;

/**
 * A good transaction that the terminal has stored since the last attempt at it began, and that
 * certainly belongs to no order: a sale whose report never came (docs/design.md 3.19). undefined:
 * there is none, or nobody can tell. Throws when the journal fails.
 */
export function unknownSale(attempts: Journal, now: Baseline): TransactionReport | undefined {
  if (now.last.kind !== "transaction") return undefined;
  const { report } = now.last;
  if (!report.good || report.originalTrace !== null) return undefined;
  const last = lastAt(attempts, now);
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

/** The newest attempt that was sent to this terminal. */
function lastAt(attempts: Journal, { identity }: Baseline): Attempt | undefined {
  const page = { sinceMs: 0, status: null, limit: ATTEMPTS_LOOKED_AT, before: null };
  return attempts
    .list(page)
    .map(({ attempt }) => attempt)
    .find(({ baseline }) => baseline !== null && sameTerminal(baseline.identity, identity));
}
