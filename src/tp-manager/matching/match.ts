import {
  type Comparison,
  compareReports,
  compareStored,
  haveMoments,
  type NamedRecord,
  nearestLocalTime,
  sameTerminal,
  sharesNumber,
} from "../attempts/comparison.ts";
import {
  type Attempt,
  type AttemptStep,
  endReportOf,
  isNeverSent,
  isNotCharged,
  REVERSAL_BEGINS,
  reversalBeganAtMs,
  saleOf,
} from "../attempts/payment.ts";
import type { AttemptRows } from "../journal/attempt-rows.ts";
import type { KnownRecord, RecordRows } from "../journal/record-rows.ts";
import type { TerminalRows } from "../journal/terminal-rows.ts";
import type { LastTransaction, TransactionReport } from "../terminal/terminal.ts";
import {
  type Answer,
  type Candidate,
  many,
  type Near,
  type Proof,
  unproven,
  type WhyNotOne,
} from "./answer.ts";
import type { Assumption, Assumptions } from "./assumptions.ts";
import {
  type Candidacy,
  canBeReversal,
  candidacyOfSale,
  type ObservedRecord,
} from "./candidates.ts";
import { askedOf, lostSince, unfitFor } from "./facts.ts";

/** What the matcher reads of the journal. An interface, because tests have one in memory. */
export interface JournalView {
  readonly attempts: Pick<AttemptRows, "events" | "read" | "orderOf" | "unfinished">;
  readonly records: Omit<RecordRows, "sharingTrace">;
  readonly terminalLog: Pick<
    TerminalRows,
    "wasClosedSince" | "unmatchedSince" | "soldSinceUnmatched" | "closedSinceUnmatched"
  >;
}

/**
 * Returns the attempts that a record can belong to, for every record that a terminal has stored or
 * reports (docs/matching.md). Changes nothing; throws when the journal fails.
 */
export function match(found: ObservedRecord, view: JournalView, assumptions: Assumptions): Answer {
  const answer = matched(found, view, assumptions);
  const isProven =
    answer.answer !== "one" || answer.proof.assumes.every((each) => assumptions.has(each));
  return isProven ? answer : unproven(answer, "not granted");
}

function matched(found: ObservedRecord, view: JournalView, assumptions: Assumptions): Answer {
  const isOwn = assumptions.has("own-report");
  // Without the assumption "own-report", a report in our payment may be of another till's sale.
  const known = isOwn ? knownAs(found, view) : undefined;
  if (known?.answer === "one" || known?.isCertain) return known;
  const isFresh = assumptions.has("fresh-storage");
  const { fitting, near, newest, isNew, owner } = candidatesOf(found, view, isFresh);
  if (owner) return knownOf(owner);
  const own = fitting.find(({ candidacy }) => candidacy === "own");
  if (own && isOwn) return ownRecord(own.attempt);
  const declined = fitting.filter(
    (one) => isDeclined(one) && !mayHaveBeenThere(one.attempt, found),
  );
  const others = fitting.filter((one) => !isDeclined(one));
  const isShared = !assumptions.has("sole-user");
  // A declined attempt counts only for a new record of ours without other candidates.
  const left = others.length > 0 || isShared || !isNew ? others : declined;
  const [only] = left;
  if (!only) {
    const but = "the bank had declined it";
    const nearly = declined.map(({ attempt }) => ({ attempt, but }));
    return known ?? { answer: "none", near: [...near, ...nearly] };
  }
  // The terminal may repeat a known record of another attempt, or of this attempt after it was
  // answered as not charged.
  const isRetold =
    known !== undefined &&
    (known.transactionId !== only.attempt.transactionId || isNotCharged(only.attempt.state));
  const why =
    isRetold || left.some(({ attempt }) => mayHaveBeenThere(attempt, found))
      ? "retold"
      : whyNotOne(left, { isShared, newest, isNew, view });
  if (why === undefined) return { answer: "one", candidate: only, proof: proofOf(only) };
  return many(left, why);
}

/** Returns why it is uncertain who made the record; undefined: the first candidate did. */
function whyNotOne(
  left: readonly Fitting[],
  {
    isShared,
    newest,
    isNew,
    view,
  }: Pick<Candidates, "newest" | "isNew"> & { isShared: boolean; view: JournalView },
): WhyNotOne | undefined {
  const [first] = left;
  const isBeforeLoss = ({ attempt }: Fitting): boolean =>
    view.records.nextCommand(attempt.transactionId) === lostSince;
  if (new Set(left.map(({ attempt }) => attempt.request.orderId)).size > 1) return "several orders";
  if (isShared) return "outsider";
  if (!isNew) return "never probed";
  if (left.some(isBeforeLoss)) return "lost order";
  if (left.some(({ candidacy }) => candidacy === "untimed")) return "untimed";
  if (first?.attempt.transactionId !== newest?.transactionId) return "later";
  if (!first || !isNotCharged(first.attempt.state)) return undefined;
  if (first.attempt.state.settled) return "settled";
  // After an answer of not charged, an end of day since then makes the record uncertain.
  const { startedAtMs, transactionId } = first.attempt;
  return view.terminalLog.wasClosedSince(startedAtMs, transactionId) ? "closed" : undefined;
}

/** Whether the record resembles the attempt's baseline, so it may be older than the command. */
function mayHaveBeenThere({ baseline }: Attempt, { record }: ObservedRecord): boolean {
  const last = baseline?.last;
  return last?.kind === "transaction" && compareReports(last.report, record) !== "different";
}

function isDeclined({ as, attempt: { state } }: Candidate): boolean {
  return as === "sale" && isNotCharged(state) && state.outcome.status === "declined";
}

function proofOf(only: Fitting): Proof {
  const { attempt, as } = only;
  const what = as === "sale" ? "amount and time" : "amount and time of the reversal";
  const believed: Assumption[] = isDeclined(only) ? [] : ["decline-final"];
  return {
    facts: [`it is new, and agrees with order ${attempt.request.orderId} alone by ${what}`],
    assumes: ["sole-user", "storage-real", "own-time", "fresh-storage", ...believed],
  };
}

/**
 * The longest time between two records that are compared by number although their times are not
 * equal: numbers repeat after an end of day, which some terminals run by themselves each night.
 */
const PERIOD_MS = 12 * 3_600_000;

/**
 * Returns the answer for a record that the journal already has, else undefined. If the attempt
 * whose command reported the record is unfinished or was answered as not charged, the record is
 * certainly its sale. `running` is the attempt in whose payment the record arrives: then a record
 * that cannot be distinguished from a known one counts as known, because two such sales within an
 * hour do not happen, and refusing a report charges nobody.
 */
export function knownAs(
  found: ObservedRecord,
  view: JournalView,
  running?: string,
): Extract<Answer, { answer: "known" | "one" }> | undefined {
  const { record, atMs } = found;
  const { attempts, records } = view;
  const sinceMs = atMs - PERIOD_MS;
  const ofNumber = equalRecords(records.sharingNumber(record, sinceMs), found, view, running);
  const same = ofNumber.filter(({ is }) => is === "same");
  const isEnough = same.length > 0 || running !== undefined;
  const others = isEnough
    ? ofNumber
    : equalRecords(records.sharingName(record, sinceMs), found, view, running);
  const owner = ownerOf(same) ?? ownerOf(others);
  if (!owner) return undefined;
  const { transactionId } = owner;
  const attempt = transactionId === null ? undefined : attempts.read(transactionId);
  // Not certain if the attempt requested another amount or the two records are only similar; then
  // the search for candidates decides.
  const isCertain = owner.is === "same" && !(attempt && isForeignTo(attempt, found));
  if (attempt && isCertain && isOpenTo(attempt, found)) return ownRecord(attempt);
  const orderId = transactionId === null ? null : (attempts.orderOf(transactionId) ?? null);
  const whose = orderId === null ? "an earlier record" : `that of order ${orderId}`;
  const relation = isCertain ? "it is" : "it cannot be distinguished from";
  const proof = { facts: [`${relation} ${whose}`], assumes: [] };
  return { answer: "known", orderId, transactionId, isCertain, proof };
}

/** Returns the known records that equal the found record or cannot be distinguished from it. */
function equalRecords(
  rows: readonly KnownRecord[],
  found: ObservedRecord,
  view: JournalView,
  running: string | undefined,
): Array<KnownRecord & { readonly is: Comparison }> {
  return (
    rows
      // Outside a payment, a stored record without an attempt still has to be matched.
      .filter(({ transactionId: by }) => (running === undefined ? by !== null : by !== running))
      .map((one) => ({ ...one, is: compareKnown(one, found, view) }))
      .filter(
        ({ is, record }) =>
          is === "same" || (is !== "different" && mayBeRetold(record, found.record, running)),
      )
      .filter(
        (one) =>
          (one.is === "same" && haveMoments(one.record, found.record)) ||
          isOfOnePeriod(one, found, view),
      )
  );
}

/**
 * Whether both records are good or both are not. During a payment they must also share a number: an
 * equal time is not enough, because fast terminals, or terminals without seconds, repeat times.
 */
function mayBeRetold(before: NamedRecord, record: TransactionReport, running?: string): boolean {
  return before.good === record.good && (running === undefined || sharesNumber(before, record));
}

function knownOf({ transactionId, request: { orderId } }: Attempt): Answer & { answer: "known" } {
  const proof = { facts: [`it is that of order ${orderId}`], assumes: [] };
  return { answer: "known", orderId, transactionId, isCertain: true, proof };
}

/** Whether the attempt's state has the record; old versions wrote no event for it. */
function isOwner({ state }: Attempt, record: TransactionReport): boolean {
  const own = [saleOf(state)?.report, endReportOf(state)];
  return own.some(
    (one) => one && compareReports(one, record) === "same" && haveMoments(one, record),
  );
}

function ownRecord(attempt: Attempt): Answer & { answer: "one" } {
  const facts = ["the terminal's record equals the report of its own command"];
  const proof: Proof = { facts, assumes: ["storage-real", "own-report"] };
  return { answer: "one", candidate: { attempt, as: "sale" }, proof };
}

/** Whether the record has an amount or currency neither requested nor charged by the attempt. */
function isForeignTo(attempt: Attempt, { record, limitMs }: ObservedRecord): boolean {
  const sale = saleOf(attempt.state)?.report;
  const isCharge = sale !== undefined && compareReports(sale, record) === "same";
  if (!record.good || record.originalTrace !== null || isCharge) return false;
  return unfitFor(askedOf(attempt, limitMs), record) !== null;
}

/** Whether the attempt has no sale yet, and the record is new, good and as requested. */
function isOpenTo({ state, baseline, request }: Attempt, { record }: ObservedRecord): boolean {
  const { amountMinor, currency } = request;
  const last = baseline?.last;
  if (last?.kind === "transaction" && compareReports(last.report, record) === "same") return false;
  const asked = { amountsMinor: [amountMinor], currencyNumeric: currency.numeric };
  return saleOf(state) === undefined && record.good && unfitFor(asked, record) === null;
}

function ownerOf<T extends KnownRecord>(rows: readonly T[]): T | undefined {
  return rows.find(({ transactionId }) => transactionId !== null) ?? rows[0];
}

/** A record that the journal has. `baselineOf`: the attempt whose baseline the record was. */
type Earlier = Pick<KnownRecord, "atMs" | "transactionId"> & { readonly baselineOf?: string };

/**
 * Compares a known record with a found one. A record without a time is the known one only if the
 * terminal has shown no other record since: numbers restart when a terminal closes its day.
 */
export function compareKnown(
  known: Earlier & Pick<KnownRecord, "record">,
  found: Pick<ObservedRecord, "record" | "identity">,
  view: JournalView,
): Comparison {
  const is = compareReports(known.record, found.record);
  if (is !== "same" || haveMoments(known.record, found.record)) return is;
  const isStillThere = storedSince(known, found, view).every(
    (last) => last.kind === "transaction" && compareReports(last.report, found.record) === "same",
  );
  return isStillThere ? is : "unsure";
}

/** Whether two records are at most {@link PERIOD_MS} apart, without an end of day in between. */
function isOfOnePeriod(known: KnownRecord, found: ObservedRecord, view: JournalView): boolean {
  if (Math.abs(found.atMs - known.atMs) > PERIOD_MS) return false;
  return (
    !view.records.closedSince(known.atMs) &&
    !storedSince(known, found, view).some(({ kind }) => kind === "none")
  );
}

/**
 * Returns the records that later commands stored at the record's terminal or found there. A command
 * also counts as later if its record was written later but the clock was set back in between.
 */
function storedSince(
  { atMs, transactionId, baselineOf }: Earlier,
  { identity }: Pick<ObservedRecord, "identity">,
  { attempts, records }: JournalView,
): LastTransaction[] {
  const stored: Array<{ readonly last: LastTransaction; readonly sentAtMs: number }> = [];
  const isPlaced = transactionId !== null || baselineOf !== undefined;
  const fromMs = isPlaced ? atMs - SLACK_MS : atMs;
  let begunAtMs = Number.NEGATIVE_INFINITY;
  for (const { startedAtMs: sentAtMs, baseline, state, ...attempt } of records.sent()) {
    const isOwn = [transactionId, baselineOf].includes(attempt.transactionId);
    if (isOwn) begunAtMs = sentAtMs;
    if (sentAtMs < fromMs || attempt.transactionId === transactionId) break;
    if (baseline && sameTerminal(baseline.identity, identity)) {
      const sale = saleOf(state);
      if (sale) stored.push({ last: { kind: "transaction", report: sale.report }, sentAtMs });
      const { last } = baseline;
      const isUnread =
        last.kind === "not-told" && isNeverSent(attempts.events(attempt.transactionId));
      if (!isUnread) stored.push({ last, sentAtMs });
    }
    if (isOwn) break;
  }
  const isSince = (sentAtMs: number): boolean => sentAtMs >= atMs || sentAtMs < begunAtMs;
  return stored.filter(({ sentAtMs }) => isSince(sentAtMs)).map(({ last }) => last);
}

type Fitting = Candidate & { readonly candidacy: Exclude<Candidacy, object> };

interface Candidates {
  readonly fitting: readonly Fitting[];
  readonly near: readonly Near[];
  readonly newest: Attempt | undefined;
  /** Whether the record is new: the terminal had another last transaction before, or none. */
  readonly isNew: boolean;
  /** The attempt whose sale or reversal the record certainly is; undefined: none is certain. */
  readonly owner: Attempt | undefined;
}

/** How much the clock can have jumped; the shorter value if the terminal stores sales at once. */
const SLACK_MS = 36 * 3_600_000;
const CLOCK_SLACK_MS = 3_600_000;

/**
 * Returns all attempts that can have produced the record. The search ends a day and a half before
 * the record's time, or at a command that found another transaction stored while no earlier command
 * could still run: older attempts cannot have made the record then.
 */
function candidatesOf(found: ObservedRecord, view: JournalView, isFresh: boolean): Candidates {
  const { record, identity, limitMs } = found;
  const { attempts, records } = view;
  const fitting: Fitting[] = [];
  const near: Near[] = [];
  let newest: Attempt | undefined;
  let isNew = false;
  /** The start of the newest examined command that found another transaction stored. */
  let otherStoredMs = Number.NEGATIVE_INFINITY;
  /** The start of the oldest examined command that found this record stored. */
  let wasThereMs = Number.POSITIVE_INFINITY;
  // The record's own time or its arrival counts, the earlier one: a terminal's clock may be ahead.
  const fromMs = Math.min(momentOf(found), found.atMs) - SLACK_MS;
  // Whether a command after the attempt found another record, so the attempt stored no sale.
  const isOver = (attempt: Attempt, events: readonly AttemptStep[]): boolean =>
    isFresh && endOf(attempt, events, limitMs) + limitMs < otherStoredMs;
  for (const attempt of records.sent()) {
    const { baseline, startedAtMs, transactionId } = attempt;
    const boundMs = isFresh ? otherStoredMs - 2 * limitMs - CLOCK_SLACK_MS : fromMs;
    if (startedAtMs < Math.max(fromMs, boundMs)) break;
    if (!baseline || !sameTerminal(baseline.identity, identity)) continue;
    const events = attempts.events(transactionId);
    if (isNeverSent(events)) continue;
    newest ??= attempt;
    if (isOwner(attempt, record)) return { fitting, near, newest, isNew, owner: attempt };
    const compare = (report: TransactionReport, by: Omit<Earlier, "atMs">): Comparison =>
      compareKnown({ record: report, atMs: startedAtMs, ...by }, found, view);
    const { last } = baseline;
    const asStored =
      last.kind === "transaction"
        ? compare(last.report, { transactionId: null, baselineOf: transactionId })
        : compareStored(last, { kind: "transaction", report: record });
    const wasThere = asStored === "same";
    // A reported sale was stored as the last one; a charge that an operator settled need not be.
    const sale = saleOf(attempt.state);
    isNew ||= asStored === "different" || (sale !== undefined && sale.by !== "operator");
    // This command found the record stored, so neither it nor a later command made the record.
    if (wasThere) {
      fitting.length = 0;
      wasThereMs = startedAtMs;
    }
    if (wasThere || isOver(attempt, events)) continue;
    const candidacy = candidacyOfSale(attempt, found, events, (report) =>
      compare(report, { transactionId }),
    );
    if (typeof candidacy === "string") fitting.push({ attempt, as: "sale", candidacy });
    else if (candidacy.but !== null && !mayHaveBeenThere(attempt, found)) {
      near.push({ attempt, but: candidacy.but });
    }
    if (asStored === "different") otherStoredMs = Math.max(otherStoredMs, startedAtMs);
  }
  for (const attempt of attempts.unfinished()) {
    const events = attempts.events(attempt.transactionId);
    const isLater = (reversalBeganAtMs(events) ?? 0) >= wasThereMs;
    if (isLater || isOver(attempt, events) || !canBeReversal(attempt, found, events)) continue;
    fitting.push({ attempt, as: "reversal", candidacy: "timely" });
  }
  return { fitting, near, newest, isNew, owner: undefined };
}

/** The longest time from the reading of a baseline to the start of its command. */
const BASELINE_AGE_MS = 15_000;
const losses = ["end-lost", "interrupted"];

/** Returns the latest epoch ms at which the newest command ended or its outcome was lost. */
function endOf(
  { startedAtMs, state }: Attempt,
  events: readonly AttemptStep[],
  limitMs: number,
): number {
  const end = events.findLast(
    ({ kind }) => kind.startsWith("end-") || kind === REVERSAL_BEGINS || losses.includes(kind),
  );
  const atMs = end?.atMs ?? startedAtMs;
  if (end === undefined || end.kind === REVERSAL_BEGINS) return atMs + limitMs + BASELINE_AGE_MS;
  // After a probe proved not charged, no margin for the age of the next baseline is needed.
  const wasAsked = losses.includes(end.kind) && isNotCharged(state);
  return wasAsked ? atMs : atMs + BASELINE_AGE_MS;
}

/** Returns the record's own time, or else its arrival, in epoch milliseconds. */
function momentOf({ record: { localDate, localTime }, atMs }: ObservedRecord): number {
  if (localDate === null || localTime === null) return atMs;
  return nearestLocalTime(localDate, localTime, atMs);
}
