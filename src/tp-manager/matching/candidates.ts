import {
  type Comparison,
  compareReports,
  compareStored,
  isFromPayment,
  isNamed,
  sameTerminal,
} from "../attempts/comparison.ts";
import {
  type Attempt,
  type AttemptStep,
  isNotCharged,
  reversalBeganAtMs,
  saleOf,
} from "../attempts/payment.ts";
import { isInDoubt, isRunning } from "../attempts/phase-table.ts";
import type { TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import { askedOf, saleLimitMs, unfitFor } from "./facts.ts";

/** A terminal's record of a transaction, with how and when it was received or read. */
export interface ObservedRecord {
  readonly record: TransactionReport;
  /** Whether the terminal reported the record after its command had ended here. */
  readonly isLate: boolean;
  /** When the record arrived or was read, in epoch milliseconds. */
  readonly atMs: number;
  readonly identity: TerminalIdentity;
  /** The longest time for which the terminal continues a command after its line was lost. */
  readonly limitMs: number;
}

/** Whether an attempt can have produced a record of the terminal. */
export type Candidacy =
  /** The attempt's own command reported this record. */
  | "own"
  /** Amount, currency and time of the record can be those of the attempt's payment. */
  | "timely"
  /** The record has no time, and no other fact shows that the attempt cannot have made it. */
  | "untimed"
  /** It did not make the record. `but`: the only fact that disagrees, for an alarm; null: none. */
  | { readonly but: string | null };

const no = { but: null };

/** Whether the record can be the attempt's sale. `compare` compares one report with the record. */
export function candidacyOfSale(
  attempt: Attempt,
  found: ObservedRecord,
  events: readonly AttemptStep[],
  compare: (report: TransactionReport) => Comparison,
): Candidacy {
  const { state } = attempt;
  if (found.record.originalTrace !== null) return no;
  const sale = saleOf(state);
  if (sale) {
    const candidacy = candidacyByTime(attempt, found);
    // A charge that an operator settled has no receipt number, so only its time is compared.
    if (!isNamed(sale.report)) return candidacy;
    return candidacy === "timely" ? { but: "its own sale is another one" } : no;
  }
  const reported = [...reportsOf(events), ...reportsIn(state)];
  if (reported.some((one) => one.good && compare(one) === "same")) {
    const unfit = unfitFor(askedOf(attempt, found.limitMs), found.record);
    return unfit === null ? "own" : { but: unfit };
  }
  if (!isNotCharged(state) && !isInDoubt(state) && !isRunning(state)) return no;
  if (reported.some((one) => isAnotherSale(one, attempt, found.record))) return no;
  return candidacyByTime(attempt, found);
}

/**
 * Whether the record can be the reversal of this attempt, whose outcome was not received. A
 * terminal that does not name the original sale stores a reversal like a sale.
 */
export function canBeReversal(
  { state }: Attempt,
  { record, limitMs, identity }: ObservedRecord,
  events: readonly AttemptStep[],
): boolean {
  if (!isInDoubt(state) || !("sale" in state)) return false;
  const { sale, baseline, last } = state;
  if (!sameTerminal(baseline.identity, identity)) return false;
  const wasThere = compareStored(baseline.last, { kind: "transaction", report: record }) === "same";
  if (wasThere) return false;
  if (sale.report.amountMinor !== record.amountMinor) return false;
  if (last?.report.good && compareReports(last.report, record) === "different") return false;
  const { clockOffsetMs } = baseline;
  const sentAtMs = reversalBeganAtMs(events);
  return (
    sentAtMs === undefined || isFromPayment({ sentAtMs, limitMs, clockOffsetMs }, record) !== false
  );
}

/**
 * Whether the attempt's command reported a good result that is another sale than the record. If we
 * refused that result, the terminal may have stored any sale, so nothing is excluded.
 */
function isAnotherSale(
  reported: TransactionReport,
  { state }: Attempt,
  record: TransactionReport,
): boolean {
  if (!reported.good || compareReports(reported, record) !== "different") return false;
  return !("last" in state && state.last?.judgement === "disagrees");
}

function candidacyByTime(attempt: Attempt, found: ObservedRecord): Candidacy {
  const { record, atMs } = found;
  const { startedAtMs, endedAtMs, baseline } = attempt;
  const limitMs = saleLimitMs(attempt.request, found.limitMs);
  const asked = askedOf(attempt, limitMs);
  // A time in the future counts as well: the wall clock may have been set back.
  const isNear = Math.abs(atMs - (endedAtMs ?? startedAtMs)) <= limitMs;
  const isLate = found.isLate && isNear;
  const byClock = isFromPayment(asked, record);
  // A payment is a candidate for a new record read soon after it, whatever time that names.
  const isWrong = byClock === false && isNear && isStoredSince();
  const isTimely = isLate ? true : isWrong ? null : byClock;
  const unfit = unfitFor(asked, record);
  if (unfit) return { but: isTimely === false ? null : unfit };
  if (isTimely === false) return { but: "it is not of the time of the payment" };
  return isTimely === true ? "timely" : "untimed";

  function isStoredSince(): boolean {
    const stored = { kind: "transaction", report: record } as const;
    return baseline !== null && compareStored(baseline.last, stored) === "different";
  }
}

const reportKinds = ["report", "approved", "second-sale"];

/** Returns the results that the terminal reported for an attempt's command, oldest first. */
export function reportsOf(events: readonly AttemptStep[]): TransactionReport[] {
  return events.flatMap(({ kind, detail }) => {
    const { report } = detail as { readonly report?: TransactionReport };
    return report && reportKinds.includes(kind) ? [report] : [];
  });
}

/**
 * Returns the reports in an attempt's state that agree with the request; old versions stored no
 * event for them. A record that was found later and has several candidates is left out.
 */
function reportsIn(state: Attempt["state"]): TransactionReport[] {
  if ("sale" in state || ("told" in state && state.told)) return [];
  const judged = "last" in state ? [state.last, "earlier" in state ? state.earlier : null] : [];
  return judged.flatMap((one) => (one?.judgement === "agrees" ? [one.report] : []));
}
