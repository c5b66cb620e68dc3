import type { ErrorCode } from "../../shared/catalog/errors.ts";
import {
  type Attempt,
  type AttemptState,
  endReportOf,
  isCharged,
  isNotCharged,
  isPaying,
} from "../attempts/payment.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { isReference, namesOurs, referenceOf } from "../attempts/reference-policy.ts";
import type { Journal } from "../journal/journal.ts";
import type { OneWayResult, TransactionReport } from "../terminal/terminal.ts";
import { type Answer, many, type Near, type WhyNotOne } from "./answer.ts";
import {
  type Assumption,
  type Assumptions,
  type Fact,
  finalOf,
  type Learned,
} from "./assumptions.ts";

/** Decides whose result it is (docs/rules/25-one-way.md, docs/rules/30-whose-result.md). */

/** What the rules know about the terminal and about the line that brings its results. */
export interface OneWayLine {
  /** Whether all payments use one line, so that a result can come within a later payment. */
  readonly isShared: boolean;
  readonly holds: Assumptions;
  readonly learned: Learned;
  readonly nowMs: number;
}

/** The event of a result that confirms what an operator had settled. */
export const SETTLED_RESULT = "told-settled";
const settledResults = [SETTLED_RESULT, "told-after-charge"];

/** For how long a terminal that missed our ACK can repeat its result. */
const REPEAT_MS = 30_000;
const carriesIts = "the result carries the order's reference";

/** Returns the attempts that a result which came during the payment `running` can belong to. */
export function resultInPayment(
  result: OneWayResult,
  running: Attempt,
  journal: Journal,
  line: OneWayLine,
): Answer {
  const { report } = result;
  const { holds } = line;
  const sure = sureOf(report, holds);
  if (namesOurs(report)) {
    const isIts = report.reference === referenceOf(running.transactionId);
    return isIts ? sure(running, carriesIts) : lateResult(result, journal, line);
  }
  // A result from before our request, or a refusal of another amount, ends no payment.
  if (result.isEarly || turnsAwayAnother(report, running)) return lateResult(result, journal, line);
  if (report.resultCode === null) {
    return sure(running, "it came within the payment, and reports no end", "own-report");
  }
  const recent = recentOf(journal, holds, running);
  const owed = recent.owed.filter((one) => mayBeOf(report, one));
  const echoes = line.learned.has(echoFact(report));
  const mayBeLate = line.isShared || echoes || !holds.has("own-connection");
  if (owed.length > 0 && mayBeLate) return several([running, ...owed], "in doubt");
  // A reference of equal characters (zeros, blanks) is only a filler and names no payment.
  const isForeign = report.reference != null && !/^(.?)\1*$/.test(report.reference);
  if (echoes && isForeign) return several([running], "foreign reference");
  // Whether the result repeats the last one: by its bytes or, if they are missing, by its members.
  const isAgain = result.isAgain ?? wasReportedBefore(report, recent, journal);
  if (isAgain && echoes) return several([running], "repeated");
  const cut = recent.isCut ? (["ordered-results"] as const) : [];
  const again = isAgain ? (["one-result-each"] as const) : [];
  const alone = owed.length > 0 ? (["own-connection"] as const) : [];
  const fact = "the result came within the payment, and names no other";
  return sure(running, fact, "own-report", ...alone, ...again, ...cut);
}

/** Returns the attempts that a result which came outside its payment can belong to. */
export function lateResult(result: OneWayResult, journal: Journal, line: OneWayLine): Answer {
  const { report, cameFor = report.reference } = result;
  const sure = sureOf(report, line.holds);
  if (cameFor && isReference(cameFor)) {
    const [named] = attemptsNamed(new Set([cameFor]), journal.attempts);
    if (!named) return { answer: "none", near: [] };
    return sure(named, result.cameFor ? "the result came within the payment" : carriesIts);
  }
  const recent = recentOf(journal, line.holds);
  const repeated =
    result.isAgain === undefined
      ? repeatedAfterRestart(report, recent, journal, line.nowMs)
      : undefined;
  if (repeated) {
    const facts = ["the result came within the last seconds, before the start"];
    const { transactionId, request } = repeated;
    const known = { orderId: request.orderId, transactionId, isCertain: true };
    return { answer: "known", ...known, proof: { facts, assumes: [] } };
  }
  const isOpen = ({ state }: Attempt): boolean => isPaying(state) || isInDoubt(state);
  const fitting = recent.sent.filter(
    (one) =>
      agrees(one, report) &&
      (isOpen(one) || (recent.owed.includes(one) && agreesWithSettlement(one, report))),
  );
  const denied = report.good ? deniedBefore(report, recent, journal) : [];
  const only = fitting.find(({ state }) => !isPaying(state));
  const orders = new Set([...fitting, ...denied].map(({ request }) => request.orderId));
  const isAlone =
    fitting.length === 1 && orders.size === 1 && only && isNewestOf(only, report, recent, journal);
  const isNew = !result.isAgain && !wasReportedBefore(report, recent, journal, only);
  const isOurs = report.contradicts === undefined && !line.learned.has(echoFact(report));
  if (isAlone && isNew && isOurs) {
    const fact = "no other order that waits for its result, and none since, asked for that amount";
    return sure(only, fact, "own-report", "ordered-results", "one-result-each");
  }
  const candidates = [...fitting, ...denied];
  if (candidates.length === 0) return { answer: "none", near: nearOf(report, journal, fitting) };
  return several(candidates, "names nothing");
}

/**
 * Returns the orders in doubt of whose amount no new sale may be made: the results of both could
 * not be distinguished, and the new customer would be charged for nothing.
 */
export function ambiguousWith(
  journal: Journal,
  line: OneWayLine & { readonly namesNothing: boolean },
): readonly Attempt[] {
  if (journal.attempts.unfinished().length === 0) return [];
  // A settled order does not count, or a kiosk with a single price could not sell.
  const open = recentOf(journal, line.holds).owed.filter(({ state }) => isInDoubt(state));
  if (open.length === 0) return [];
  const isNameless = line.namesNothing || newestNamesNothing(journal);
  const ofAmount = ({ request: { amountMinor } }: Attempt): number =>
    open.filter(({ request }) => request.amountMinor === amountMinor).length;
  return open.filter((attempt) => isNameless || ofAmount(attempt) > 1);
}

/**
 * Returns the report with `contradicts`: another action than requested; another register, if this
 * terminal has returned our register before; an approval after a refusal, unless only the approval
 * has the order's reference.
 */
export function contradicting(
  report: TransactionReport,
  learned: Learned,
  before?: TransactionReport,
): TransactionReport {
  const { differs = [], good } = report;
  const isOther = (member: string): boolean =>
    member === "action" || (member === "register number" && learned.has("echoes-register"));
  const wasRefused = good && before?.good === false && before.resultCode !== null;
  const isOutweighed = namesOurs(report) && before !== undefined && !namesOurs(before);
  const contradicts = [
    ...differs.filter(isOther),
    ...(wasRefused && !isOutweighed ? ["earlier result"] : []),
  ];
  return contradicts.length === 0 ? report : { ...report, contradicts };
}

/** Returns the fact that results of this kind carry our reference at this terminal. */
export function echoFact({ good, reason }: TransactionReport): Fact {
  if (good) return "echoes-approvals";
  const isCancelled = reason === "cancelled" || reason === "customer-timeout";
  return isCancelled ? "echoes-cancellations" : "echoes-refusals";
}

/** Returns a function that answers "one" if the assumptions of its proof hold. */
const sureOf =
  ({ good, resultCode, reason }: TransactionReport, holds: Assumptions) =>
  (attempt: Attempt, fact: string, ...named: readonly Assumption[]): Answer => {
    const isRefusal = !good && resultCode !== null;
    const assumes = isRefusal ? [...named, finalOf(reason)] : named;
    if (assumes.some((each) => !holds.has(each))) return several([attempt], "not granted");
    return { answer: "one", candidate: { attempt, as: "sale" }, proof: { facts: [fact], assumes } };
  };

function several(attempts: readonly Attempt[], why: WhyNotOne): Answer {
  const candidates = attempts.map((attempt) => ({ attempt, as: "sale" as const }));
  return many(candidates, why);
}

/** Whether the result refuses another payment than this one. A refusal can lack its amount. */
function turnsAwayAnother(
  { good, resultCode, amountMinor, contradicts = [] }: TransactionReport,
  { request }: Attempt,
): boolean {
  if (good || resultCode === null) return false;
  const isAmount = amountMinor === null || [0, request.amountMinor].includes(amountMinor);
  return !isAmount || contradicts.length > 0;
}

/** Whether a clear result without a reference can be the one that an attempt waits for. */
function mayBeOf(report: TransactionReport, attempt: Attempt): boolean {
  const { good, amountMinor } = report;
  const { request } = attempt;
  if (!agreesWithSettlement(attempt, report)) return false;
  const saysNothing = amountMinor === null || (!good && amountMinor === 0);
  return saysNothing || amountMinor === request.amountMinor;
}

function agreesWithSettlement({ state }: Attempt, { good }: TransactionReport): boolean {
  return isInDoubt(state) || isCharged(state) === good;
}

function agrees(
  { request }: Attempt,
  { amountMinor, currencyNumeric }: TransactionReport,
): boolean {
  const { numeric } = request.currency;
  return request.amountMinor === amountMinor && (currencyNumeric ?? numeric) === numeric;
}

/** Whether the same result came before, for a recent attempt or as the last unmatched one. */
function wasReportedBefore(
  report: TransactionReport,
  { sent }: Recent,
  journal: Journal,
  except?: Attempt,
): boolean {
  const [kept] = journal.terminalLog.unmatched(1);
  let isKeptNewer = kept !== undefined;
  for (const attempt of sent) {
    const own = attempt === except ? undefined : lastResult(attempt, journal);
    if (own && isSameResult(own.report, report)) return true;
    if (own && kept && kept.atMs < attempt.startedAtMs) isKeptNewer = false;
  }
  return isKeptNewer && kept !== undefined && isSameResult(kept.report, report);
}

/** Returns the newest attempt if its result is repeated soon after a restart of the program. */
function repeatedAfterRestart(
  report: TransactionReport,
  { sent }: Recent,
  journal: Journal,
  nowMs: number,
): Attempt | undefined {
  const newest = sent.find((one) => journal.attempts.canHaveLeft(one));
  const last = newest && lastResult(newest, journal);
  const agoMs = last ? nowMs - last.atMs : REPEAT_MS;
  return last && agoMs >= 0 && agoMs < REPEAT_MS && isSameResult(last.report, report)
    ? newest
    : undefined;
}

function isNewestOf(
  attempt: Attempt,
  report: TransactionReport,
  { sent }: Recent,
  { attempts }: Journal,
): boolean {
  return sent.find((one) => agrees(one, report) && attempts.canHaveLeft(one)) === attempt;
}

/**
 * Returns the orders answered as not charged that an approval without a reference may be about.
 * Results come in order, so the search ends at the last payment that had its own result.
 */
function deniedBefore(report: TransactionReport, { sent }: Recent, journal: Journal): Attempt[] {
  const denied: Attempt[] = [];
  for (const attempt of sent.filter((one) => journal.attempts.canHaveLeft(one))) {
    const { state, request } = attempt;
    const last = lastResult(attempt, journal);
    if (isCharged(state) || (last && isSameResult(last.report, report))) break;
    const amountMinor = report.amountMinor ?? request.amountMinor;
    if (isNotCharged(state) && agrees(attempt, { ...report, amountMinor })) denied.push(attempt);
    if (last) break;
  }
  return denied;
}

/** Returns orders in doubt of another amount, or followed by an order that had its own result. */
function nearOf(
  report: TransactionReport,
  { attempts }: Journal,
  fitting: readonly Attempt[],
): Near[] {
  return attempts
    .unfinished()
    .filter((one) => isInDoubt(one.state) && !fitting.includes(one))
    .map((attempt) => ({
      attempt,
      but: agrees(attempt, report) ? "a later one had its result" : "it asked for another amount",
    }));
}

/** Whether the newest result carries no reference of ours; false before the first result. */
function newestNamesNothing({ attempts, terminalLog }: Journal): boolean {
  const [kept] = terminalLog.unmatched(1);
  const isNameless = (reference: string | null | undefined): boolean =>
    reference === null || (reference !== undefined && !isReference(reference));
  for (const { state, startedAtMs } of attempts.newest()) {
    const last = "last" in state ? state.last?.report : undefined;
    const { reference, resultCode } = endReportOf(state) ?? last ?? {};
    if (reference === undefined || resultCode == null) continue;
    const isKeptNewer = kept && kept.report.resultCode !== null && kept.atMs >= startedAtMs;
    return isNameless(isKeptNewer ? kept.report.reference : reference) || isNameless(reference);
  }
  return kept !== undefined && kept.report.resultCode !== null && isNameless(kept.report.reference);
}

/** Whether two results have the same content; a one-way terminal's result has no number. */
export function isSameResult(before: TransactionReport, report: TransactionReport): boolean {
  const { good, resultCode, maskedPan, authorisationNumber, reference = null } = report;
  const isAmount = [before.amountMinor, null].includes(report.amountMinor);
  return (
    isAmount &&
    good === before.good &&
    resultCode === before.resultCode &&
    maskedPan === before.maskedPan &&
    authorisationNumber === before.authorisationNumber &&
    reference === (before.reference ?? null)
  );
}

/** The attempts that a result without a reference can belong to, newest first. */
interface Recent {
  /** The last attempt that had its own result, and all attempts after it. */
  readonly sent: readonly Attempt[];
  /** The attempts in doubt, or settled by an operator, whose result can still come. */
  readonly owed: readonly Attempt[];
  /** Whether older attempts are left out, because results come in order. */
  readonly isCut: boolean;
}

/**
 * Returns the recent attempts without `running`. If results come in order, only attempts after the
 * last one with its own result await a result; otherwise every unfinished attempt does.
 */
function recentOf(journal: Journal, holds: Assumptions, running?: Attempt): Recent {
  const isOrdered = holds.has("ordered-results");
  const sent: Attempt[] = [];
  const owed: Attempt[] = [];
  let waiting = journal.attempts
    .unfinished()
    .filter(({ transactionId }) => transactionId !== running?.transactionId);
  for (const attempt of journal.attempts.newest()) {
    if (attempt.transactionId === running?.transactionId) continue;
    sent.push(attempt);
    const had = hadItsResult(attempt) || hasSettledResult(attempt, journal);
    if (!had && isWaitedFor(attempt)) owed.push(attempt);
    waiting = waiting.filter(({ transactionId }) => transactionId !== attempt.transactionId);
    if (had && (isOrdered || waiting.length === 0)) return { sent, owed, isCut: isOrdered };
  }
  return { sent, owed, isCut: false };
}

/** The errors that come only from a terminal's result, not from our cancel or a proof. */
const errorsOfResults: ReadonlySet<ErrorCode> = new Set([
  "PAYMENT_DECLINED",
  "PAYMENT_CANCELLED",
  "CUSTOMER_TIMEOUT",
  "TERMINAL_FAULT",
  "CURRENCY_REFUSED",
]);

/** Whether the attempt got its result before its payment ended here. */
function hadItsResult({ state }: Attempt): boolean {
  if (isInDoubt(state)) return hadInDoubt(state);
  if (isCharged(state)) return state.by === "payment" && !state.settled && !state.late;
  if (!isNotCharged(state) || state.settled) return false;
  const { error, terminalCode } = state.outcome;
  return terminalCode !== null && errorsOfResults.has(error);
}

/** Whether an attempt in doubt already had its result, so that none is awaited any more. */
function hadInDoubt(state: AttemptState): boolean {
  const own = "last" in state ? state.last?.report : undefined;
  const isOwn = own !== undefined && own.resultCode !== null && namesOurs(own);
  return isOwn || ("told" in state && state.told !== undefined);
}

/** Whether the attempt's result has not come yet, even if an operator has settled the attempt. */
function isWaitedFor({ state }: Attempt): boolean {
  const open = "settled" in state ? state.settled?.doubt : state;
  return open !== undefined && isInDoubt(open) && !hadInDoubt(open);
}

/** Returns the last result for the attempt, and when it came, in epoch milliseconds. */
function lastResult({ transactionId }: Attempt, { attempts }: Journal) {
  for (const { atMs, detail } of attempts.events(transactionId).toReversed()) {
    const { report } = detail as { readonly report?: TransactionReport };
    if (report?.resultCode != null) return { atMs, report };
  }
  return undefined;
}

function hasSettledResult({ state, transactionId }: Attempt, { attempts }: Journal): boolean {
  if (!("settled" in state)) return false;
  return attempts.events(transactionId).some(({ kind }) => settledResults.includes(kind));
}

/** Returns the attempts whose reference is among these references, however old they are. */
export function attemptsNamed(
  references: ReadonlySet<string>,
  attempts: Journal["attempts"],
): Attempt[] {
  const left = new Set(references);
  const named: string[] = [];
  for (const id of attempts.ids()) {
    if (left.size === 0) break;
    if (left.delete(referenceOf(id))) named.push(id);
  }
  return named.flatMap((id) => attempts.read(id) ?? []);
}
