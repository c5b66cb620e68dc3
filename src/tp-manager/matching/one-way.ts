import type { UnmatchedRow } from "../attempts/findings.ts";
import {
  type Attempt,
  endReportOf,
  isCharged,
  isNotCharged,
  isPaying,
} from "../attempts/payment.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { isReference, namesOurs, referenceOf } from "../attempts/reference-policy.ts";
import type { OneWayResult, TransactionReport } from "../terminal/terminal.ts";
import { type Answer, type Near, type WhyNotOne, whyInWords } from "./answer.ts";
import { type Assumption, type Assumptions, finalOf } from "./assumptions.ts";
import type { Fact, Learned } from "./learned.ts";
import { type Recent, recentOf } from "./one-way-order.ts";

/**
 * Whose result a terminal tells that cannot be asked, decided here alone
 * (docs/rules/25-one-way.md).
 */

/** The journal, read as far as an answer needs it. */
export interface OneWayJournal {
  /** Attempts that have not ended. */
  readonly open: readonly Attempt[];
  /** Every attempt, the newest first. */
  newest(): Iterable<Attempt>;
  /** Something of it can have reached the terminal. */
  hasLeft(attempt: Attempt): boolean;
  /** The last result that was told for it. */
  told(attempt: Attempt): Told | undefined;
  /** A person has settled it, and its result is known. */
  wasToldSettled(attempt: Attempt): boolean;
  /** The attempt that a reference of ours names. */
  named(reference: string): Attempt | undefined;
  /** The newest result that was no order's. */
  readonly kept: Pick<UnmatchedRow, "atMs" | "report"> | undefined;
  readonly nowMs: number;
}

export interface Told {
  readonly atMs: number;
  readonly report: TransactionReport;
}

/** The line to the terminal, and what is known of it. */
export interface OneWayLine {
  /** Results of all payments come on one line, so one can come within a later payment. */
  readonly isShared: boolean;
  readonly holds: Assumptions;
  readonly learned: Pick<Learned, "has">;
}

/** A terminal that misses our acknowledgement tells its result again within seconds. */
const REPEAT_MS = 30_000;
const carriesIts = "the result carries the order's reference";

/** Whose result it is that came while `running` has the terminal. */
export function resultInPayment(
  told: OneWayResult,
  running: Attempt,
  journal: OneWayJournal,
  line: OneWayLine,
): Answer {
  const { report } = told;
  const { holds } = line;
  const sure = sureOf(report, holds);
  if (namesOurs(report)) {
    const isIts = report.reference === referenceOf(running.transactionId);
    return isIts ? sure(running, carriesIts) : lateResult(told, journal, line);
  }
  // A result that came too early answers nothing; a refusal of another amount or action, not this.
  if (told.isEarly || turnsAwayAnother(report, running)) return lateResult(told, journal, line);
  if (report.resultCode === null) {
    return sure(running, "it came within the payment, and tells no end", "own-report");
  }
  const recent = recentOf(journal, holds, running);
  const owed = recent.owed.filter((one) => mayBeOf(report, one));
  const echoes = line.learned.has(echoFact(report));
  const mayBeLate = line.isShared || echoes || !holds.has("own-connection");
  if (owed.length > 0 && mayBeLate) return several([running, ...owed], "in doubt");
  if (echoes && isForeign(report)) return several([running], "foreign reference");
  // Byte for byte the last result; as far as its members tell where its bytes are not known.
  const isAgain = told.isAgain ?? toldBefore(report, recent, journal);
  if (isAgain && echoes) return several([running], "told again");
  const cut = recent.isCut ? (["ordered-results"] as const) : [];
  const again = isAgain ? (["one-result-each"] as const) : [];
  const alone = owed.length > 0 ? (["own-connection"] as const) : [];
  const fact = "the result came within the payment, and names no other";
  return sure(running, fact, "own-report", ...alone, ...again, ...cut);
}

/** Whose result it is that came outside a payment, or that is not the running one's. */
export function lateResult(told: OneWayResult, journal: OneWayJournal, line: OneWayLine): Answer {
  const { report, cameFor = report.reference } = told;
  const sure = sureOf(report, line.holds);
  if (cameFor && isReference(cameFor)) {
    const named = journal.named(cameFor);
    if (!named) return { answer: "none", near: [] };
    return sure(named, told.cameFor ? "the result came within the payment" : carriesIts);
  }
  const recent = recentOf(journal, line.holds);
  const heard = told.isAgain === undefined ? heardBefore(report, recent, journal) : undefined;
  if (heard) {
    const facts = ["the result was told within the last seconds, before the start"];
    const { transactionId, request } = heard;
    const known = { orderId: request.orderId, transactionId, isCertain: true };
    return { answer: "known", ...known, proof: { facts, assumes: [] } };
  }
  const isOpen = ({ state }: Attempt): boolean => isPaying(state) || isInDoubt(state);
  const fitting = recent.sent.filter(
    (one) => fits(one, report) && (isOpen(one) || isOwedBy(one, report, recent)),
  );
  const denied = report.good ? deniedBefore(report, recent, journal) : [];
  const only = fitting.find(({ state }) => !isPaying(state));
  const orders = new Set([...fitting, ...denied].map(({ request }) => request.orderId));
  const isAlone =
    fitting.length === 1 && orders.size === 1 && only && isNewestOf(only, report, recent, journal);
  const isNew = !told.isAgain && !toldBefore(report, recent, journal, only);
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
 * Orders in doubt beside which no sale of their amount is begun, because its result could be told
 * from theirs by nothing, and its customer would be charged in vain.
 */
export function notToldApart(
  journal: OneWayJournal,
  line: OneWayLine & { readonly namesNothing: boolean },
): readonly Attempt[] {
  if (!line.isShared || journal.open.length === 0) return [];
  // A person who settles an order ends the wait: a kiosk with one price must go on.
  const doubts = recentOf(journal, line.holds).owed.filter(({ state }) => isInDoubt(state));
  if (doubts.length === 0) return [];
  const isNameless = line.namesNothing || newestNamesNothing(journal);
  const ofAmount = ({ request: { amountMinor } }: Attempt): number =>
    doubts.filter(({ request }) => request.amountMinor === amountMinor).length;
  return doubts.filter((doubt) => isNameless || ofAmount(doubt) > 1);
}

/**
 * With what of it contradicts what was asked, or what was told before in the same payment: another
 * action always, another register where this terminal has given ours back, an approval behind a
 * refusal unless it alone carries the order's reference.
 */
export function contradicting(
  report: TransactionReport,
  learned: Pick<Learned, "has">,
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

/** The fact that this kind of answer has carried a reference of ours. */
export function echoFact({ good, reason }: TransactionReport): Fact {
  if (good) return "echoes-approvals";
  const isCancelled = reason === "cancelled" || reason === "customer-timeout";
  return isCancelled ? "echoes-cancellations" : "echoes-refusals";
}

/** The answer that names one attempt, by a fact, where all that it assumes holds. */
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
  return { answer: "many", candidates, why, because: whyInWords(why) };
}

/** Many refusals tell zero or no amount. */
function turnsAwayAnother(
  { good, resultCode, amountMinor, contradicts = [] }: TransactionReport,
  { request }: Attempt,
): boolean {
  if (good || resultCode === null) return false;
  const isAmount = amountMinor === null || [0, request.amountMinor].includes(amountMinor);
  return !isAmount || contradicts.length > 0;
}

/** Whether a clear result without a name can be the one that an attempt waits for. */
function mayBeOf(report: TransactionReport, attempt: Attempt): boolean {
  const { good, amountMinor } = report;
  const { request } = attempt;
  if (!agreesWithWord(attempt, report)) return false;
  const saysNothing = amountMinor === null || (!good && amountMinor === 0);
  return saysNothing || amountMinor === request.amountMinor;
}

/** A person who has settled an attempt has found out what its result is. */
function agreesWithWord({ state }: Attempt, { good }: TransactionReport): boolean {
  return isInDoubt(state) || isCharged(state) === good;
}

function isOwedBy(attempt: Attempt, report: TransactionReport, { owed }: Recent): boolean {
  return owed.includes(attempt) && agreesWithWord(attempt, report);
}

function fits({ request }: Attempt, { amountMinor, currencyNumeric }: TransactionReport): boolean {
  const { numeric } = request.currency;
  return request.amountMinor === amountMinor && (currencyNumeric ?? numeric) === numeric;
}

/** A word of somebody else stands where ours belongs; zeros, or blanks, only fill the place. */
function isForeign({ reference }: TransactionReport): boolean {
  return reference != null && !/^(.?)\1*$/.test(reference);
}

/** The very result was told for an attempt of now, or as the last one that was no order's. */
function toldBefore(
  report: TransactionReport,
  { sent }: Recent,
  { told, kept }: OneWayJournal,
  except?: Attempt,
): boolean {
  let isKeptNewer = kept !== undefined;
  for (const attempt of sent) {
    const own = attempt === except ? undefined : told(attempt);
    if (own && isSameWord(own.report, report)) return true;
    if (own && kept && kept.atMs < attempt.startedAtMs) isKeptNewer = false;
  }
  return isKeptNewer && kept !== undefined && isSameWord(kept.report, report);
}

/** Behind a restart: the result of the newest attempt comes again, and none was sent since. */
function heardBefore(
  report: TransactionReport,
  { sent }: Recent,
  { told, hasLeft, nowMs }: OneWayJournal,
): Attempt | undefined {
  const newest = sent.find(hasLeft);
  const last = newest && told(newest);
  const agoMs = last ? nowMs - last.atMs : REPEAT_MS;
  return last && agoMs >= 0 && agoMs < REPEAT_MS && isSameWord(last.report, report)
    ? newest
    : undefined;
}

/** A later payment of that amount may tell its own result again. */
function isNewestOf(
  doubt: Attempt,
  report: TransactionReport,
  { sent }: Recent,
  { hasLeft }: OneWayJournal,
): boolean {
  return sent.find((one) => fits(one, report) && hasLeft(one)) === doubt;
}

/**
 * Orders that were told as not charged, and that an approval without a name contradicts: the
 * terminal may have approved what it had turned away. Results come in their order, so it is none of
 * before the last payment that was told its own.
 */
function deniedBefore(
  report: TransactionReport,
  { sent }: Recent,
  { told, hasLeft }: OneWayJournal,
): Attempt[] {
  const denied: Attempt[] = [];
  for (const attempt of sent.filter(hasLeft)) {
    const { state, request } = attempt;
    const last = told(attempt);
    if (isCharged(state) || (last && isSameWord(last.report, report))) break;
    const amountMinor = report.amountMinor ?? request.amountMinor;
    if (isNotCharged(state) && fits(attempt, { ...report, amountMinor })) denied.push(attempt);
    if (last) break;
  }
  return denied;
}

/** Orders in doubt that have another amount, or behind which another had its own result. */
function nearOf(
  report: TransactionReport,
  { open }: OneWayJournal,
  fitting: readonly Attempt[],
): Near[] {
  return open
    .filter((one) => isInDoubt(one.state) && !fitting.includes(one))
    .map((attempt) => ({
      attempt,
      but: fits(attempt, report) ? "a later one had its result" : "it asked for another amount",
    }));
}

/** As far as the newest result says that the terminal told; false while it told none. */
function newestNamesNothing({ newest, kept }: OneWayJournal): boolean {
  const isNameless = (reference: string | null | undefined): boolean =>
    reference === null || (reference !== undefined && !isReference(reference));
  for (const { state, startedAtMs } of newest()) {
    const { reference, resultCode } = lastReportOf(state) ?? {};
    if (reference === undefined || resultCode == null) continue;
    const isKeptNewer = kept && kept.report.resultCode !== null && kept.atMs >= startedAtMs;
    return isNameless(isKeptNewer ? kept.report.reference : reference) || isNameless(reference);
  }
  return kept !== undefined && kept.report.resultCode !== null && isNameless(kept.report.reference);
}

function lastReportOf(state: Attempt["state"]): TransactionReport | undefined {
  return endReportOf(state) ?? ("last" in state ? state.last?.report : undefined);
}

/** As far as a reply without a number of its own tells; a reference of ours names its attempt. */
export function isSameWord(told: TransactionReport, report: TransactionReport): boolean {
  const { good, resultCode, maskedPan, authorisationNumber, reference = null } = report;
  const isAmount = [told.amountMinor, null].includes(report.amountMinor);
  return (
    isAmount &&
    good === told.good &&
    resultCode === told.resultCode &&
    maskedPan === told.maskedPan &&
    authorisationNumber === told.authorisationNumber &&
    reference === (told.reference ?? null)
  );
}
