import {
  type Attempt,
  type AttemptStep,
  isNotCharged,
  type ReversalInDoubtState,
  reversalBeganAtMs,
  saleOf,
} from "../attempts/payment.ts";
import { isInDoubt, isRunning } from "../attempts/phase-table.ts";
import type { TerminalIdentity, TransactionReport } from "../terminal/terminal.ts";
import type { Source } from "./answer.ts";
import { type Comparison, compareReports, compareStored, sameTerminal } from "./comparison.ts";
import { askedOf, saleLimitMs } from "./doubt.ts";
import { unfitFor } from "./facts.ts";
import { isFromPayment } from "./own-time.ts";

/** A record and the circumstances in which it was seen. */
export interface Found {
  readonly record: TransactionReport;
  readonly source: Source;
  /** When it arrived, or was read; epoch milliseconds. */
  readonly atMs: number;
  readonly identity: TerminalIdentity;
  /** The terminal's own limit for a command that it was left alone with. */
  readonly limitMs: number;
}

/** Whether an attempt can have produced a record. */
export type Fit =
  /** Its own command reported this record. */
  | "own"
  /** Amount, currency and time are as asked. */
  | "timely"
  /** The record tells no time, and nothing rules the attempt out. */
  | "untimed"
  | Misfit;

interface Misfit {
  /** The one fact that does not fit, for an alarm's words; null: nothing about it fits. */
  readonly but: string | null;
}

const no: Misfit = { but: null };

/**
 * Whether the attempt's sale can be the record. `events`: those of the attempt; `compare`: a report
 * that it told with the record.
 */
export function fitOfSale(
  attempt: Attempt,
  found: Found,
  events: readonly AttemptStep[],
  compare: (told: TransactionReport) => Comparison,
): Fit {
  const { state } = attempt;
  if (found.record.originalTrace !== null) return no;
  const heard = [...heardIn(events), ...reportsIn(state)];
  const sale = saleOf(state);
  if (sale) return fitOfCharged(attempt, sale.report, found);
  if (heard.some((one) => one.good && compare(one) === "same")) {
    const unfit = unfitFor(askedOf(attempt, found.limitMs), found.record);
    return unfit === null ? "own" : { but: unfit };
  }
  if (!isNotCharged(state) && !isInDoubt(state) && !isRunning(state)) return no;
  if (heard.some((one) => isAnotherSale(one, attempt, found.record))) return no;
  return fitByTime(attempt, found);
}

/** Whether the reversal of the attempt's sale, whose end nobody heard, can be the record. */
export function isFitOfReversal(
  { state }: Attempt,
  { record, limitMs, identity }: Found,
  events: readonly AttemptStep[],
): boolean {
  if (!isInDoubt(state) || !("sale" in state)) return false;
  const { baseline } = state;
  if (!sameTerminal(baseline.identity, identity)) return false;
  const wasThere = compareStored(baseline.last, { kind: "transaction", report: record }) === "same";
  const sentAtMs = reversalBeganAtMs(events);
  return !wasThere && fitsReversal(state, record, { sentAtMs, limitMs });
}

/** A terminal that names no original stores its reversal like a sale. */
function fitsReversal(
  { sale, baseline, last }: ReversalInDoubtState,
  record: TransactionReport,
  { sentAtMs, limitMs }: { readonly sentAtMs: number | undefined; readonly limitMs: number },
): boolean {
  if (sale.report.amountMinor !== record.amountMinor) return false;
  if (last?.report.good && compareReports(last.report, record) === "different") return false;
  const { clockOffsetMs } = baseline;
  return (
    sentAtMs === undefined || isFromPayment({ sentAtMs, limitMs, clockOffsetMs }, record) !== false
  );
}

function fitOfCharged(attempt: Attempt, sale: TransactionReport, found: Found): Fit {
  // An operator's word names no number.
  const isNamed = [sale.receiptNumber, sale.traceNumber, sale.localTime].some(
    (one) => one !== null,
  );
  const fit = fitByTime(attempt, found);
  if (!isNamed) return fit;
  return fit === "timely" ? { but: "its own sale is another one" } : no;
}

/**
 * A good report of its command that is another record, unless it was refused: then the terminal may
 * have stored something else in its place.
 */
function isAnotherSale(
  told: TransactionReport,
  { state }: Attempt,
  record: TransactionReport,
): boolean {
  if (!told.good || compareReports(told, record) !== "different") return false;
  return !("last" in state && state.last?.judgement === "disagrees");
}

function fitByTime(attempt: Attempt, found: Found): Fit {
  const { record, source, atMs } = found;
  const limitMs = saleLimitMs(attempt.request, found.limitMs);
  const asked = askedOf(attempt, limitMs);
  const { startedAtMs, endedAtMs } = attempt;
  // A wall clock can jump either way.
  const isNear = Math.abs(atMs - (endedAtMs ?? startedAtMs)) <= limitMs;
  const isLate = source === "late" && isNear;
  const told = isFromPayment(asked, record);
  // A clock that says otherwise is wrong about what was stored and seen meanwhile.
  const isWrong = told === false && isNear && isStoredSince(attempt, record);
  const isTimely = isLate ? true : isWrong ? null : told;
  const unfit = unfitFor(asked, record);
  if (unfit) return { but: isTimely === false ? null : unfit };
  if (isTimely === false) return { but: "it is not of the time of the payment" };
  return isTimely === true ? "timely" : "untimed";
}

const isStoredSince = ({ baseline }: Attempt, report: TransactionReport): boolean =>
  baseline !== null &&
  compareStored(baseline.last, { kind: "transaction", report }) === "different";

/** The results that the command of an attempt told, the oldest first. */
export function heardIn(events: readonly AttemptStep[]): TransactionReport[] {
  return events.flatMap(({ kind, detail }) => {
    const { report } = detail as { readonly report?: TransactionReport };
    return report && heardKinds.includes(kind) ? [report] : [];
  });
}

/**
 * Attempts of old journals have their reports in the state alone. A record that was found for more
 * than one order is nobody's own.
 */
function reportsIn(state: Attempt["state"]): TransactionReport[] {
  if ("sale" in state || ("told" in state && state.told)) return [];
  const judged = "last" in state ? [state.last, "earlier" in state ? state.earlier : null] : [];
  return judged.flatMap((one) => (one?.judgement === "agrees" ? [one.report] : []));
}

const heardKinds = ["report", "approved", "second-sale"];
