import { RECEIPT_MAX, sameTerminal } from "../../attempts/comparison.ts";
import type {
  ClosingTotals,
  TelecollectionEnd,
  TerminalIdentity,
} from "../../terminal/terminal.ts";
import {
  explained,
  isCounted,
  type JumpBody,
  type LedgerEntry,
  missingBetween,
  nextReceipt,
  numbersOf,
  type PlacedEntry,
  receiptNumberOf,
  receiptSteps,
  type Suspect,
} from "./ledger-policy.ts";
import reasonTexts from "./reconciliation-en.json" with { type: "json" };

/**
 * Compares the totals of an end of day with the journal (docs/rules/18-totals.md). Pure. If
 * anything but a wrongly answered sale could explain a difference, the totals are not compared,
 * because false alarms about money would soon be ignored.
 */

/** Why totals are not compared or differ, and why an order is wrong at the gateway. */
type Reason = keyof typeof reasonTexts;

export type ClosingVerdict = ReturnType<typeof compareClosing>;
/** The outcome of comparing the terminal's sum with the journal's: they agree or differ. */
export type Difference = ReturnType<typeof verdict>;

interface CardSum {
  readonly name: string;
  readonly count: number;
  readonly sumMinor: number;
}

export interface ClosingBody {
  readonly kind: "end-of-day";
  readonly receiptFrom: string | null;
  readonly receiptTo: string | null;
  readonly terminal: ClosingVerdict;
  readonly gateway: ReturnType<typeof compareDeliveries>;
  /** The sums by card name, as terminal and journal spell the names; only displayed. */
  readonly cards: { readonly terminal: readonly CardSum[]; readonly journal: readonly CardSum[] };
}

export interface Reconciliation {
  readonly id: number;
  readonly atMs: number;
  /** "jump": receipt numbers are missing. "refuted": an end of day agreed although they are. */
  readonly result: ClosingVerdict["result"] | "jump" | "refuted";
  readonly body: ClosingBody | JumpBody;
}

/** An end of day of the terminal that can have closed sales. */
export interface ClosingRow {
  readonly id: number;
  readonly startedAtMs: number;
  /** The terminal's answer to the end of day; null when the terminal gave no answer. */
  readonly end: TelecollectionEnd | null;
  /** The identity of the terminal whose day was closed; null in rows of older versions. */
  readonly identity: TerminalIdentity | null;
}

/** One end of day with everything that its totals are compared with. */
export interface ClosingPeriod {
  readonly closing: ClosingRow;
  /** The earlier ends of day after which the sales of this one may begin, newest first. */
  readonly earlier: readonly ClosingRow[];
  /** The attempts since the oldest of the earlier ends of day, in the order they began. */
  readonly entries: readonly LedgerEntry[];
  /** Whether `entries` lacks attempts: too many to read, or archived by an older version. */
  readonly isCutOff: boolean;
}

/** Compares the `totals` of an end of day with its attempts. `isShared`: another till sells too. */
export function compareClosing(
  period: ClosingPeriod,
  totals: ClosingTotals | undefined,
  isShared: boolean,
) {
  const no = (why: Reason) => ({ result: "not-comparable", because: reasonTexts[why] }) as const;
  const { identity } = period.closing;
  if (!identity) return no("older-version");
  if (isShared) return no("shared");
  if (!totals) return no("no-totals");
  if (totals.sumMinor === null) return no("two-sums");
  if (period.isCutOff) return no("archived");
  const compared = comparedEntries(period, identity, totals);
  if (typeof compared === "string") return no(compared);
  const sent = compared.filter(({ wasSent }) => wasSent);
  const isElsewhere = sent.some((one) => one.identity && !sameTerminal(one.identity, identity));
  if (isElsewhere) return no("other-terminal");
  const currencies = new Set(sent.map(({ currency }) => currency));
  if (currencies.size > 1) return no("currencies");
  return verdict(compared, totals, totals.sumMinor, period.entries);
}

function verdict(
  compared: readonly LedgerEntry[],
  totals: ClosingTotals,
  sumMinor: number,
  all: readonly LedgerEntry[],
) {
  const { count } = totals;
  const charged = compared.filter(isCounted);
  const journalMinor = charged.reduce((sum, entry) => sum + (entry.chargedMinor ?? 0), 0);
  const differenceMinor = sumMinor - journalMinor;
  const { currency = "EUR", exponent = 2 } = compared.find(({ wasSent }) => wasSent) ?? {};
  const facts = {
    currency,
    exponent,
    /** The terminal's own figures. The count is null if the terminal reported no count of sales. */
    terminal: { count, sumMinor },
    journal: { count: charged.length, sumMinor: journalMinor },
    differenceMinor,
  };
  if (differenceMinor === 0) {
    const none: readonly Suspect[] = [];
    return { result: "agrees" as const, because: "", ...facts, suspects: none, isSole: false };
  }
  const counted = count === null ? null : Math.abs(count - charged.length);
  const { suspects, isSole } = explained(withGaps(compared, totals), differenceMinor, counted, all);
  const because = reasonTexts[differenceMinor > 0 ? "more" : "less"];
  return { result: "differs" as const, because, ...facts, suspects, isSole };
}

/** Returns the attempts that the totals should include, or why this is not certain. */
function comparedEntries(
  { earlier, entries }: ClosingPeriod,
  identity: TerminalIdentity,
  { receiptFrom, receiptTo }: ClosingTotals,
): readonly LedgerEntry[] | Reason {
  const from = receiptNumberOf(receiptFrom);
  const to = receiptNumberOf(receiptTo);
  const newest = earlier[0];
  if (newest?.identity && !sameTerminal(newest.identity, identity)) {
    return "other-terminal-closed";
  }
  const since = entries.filter(({ afterClosing }) => afterClosing >= (newest?.id ?? 0));
  if (from === null || to === null) {
    if (!since.some(isCounted)) return since;
    return "no-receipt-numbers";
  }
  for (const boundary of boundariesOf(earlier, entries)) {
    if (!boundary.joins(from)) continue;
    const joined = entries.filter(({ afterClosing }) => afterClosing >= boundary.id);
    if (areInside(joined, from, to)) return joined;
  }
  return beginningWith(since, from, to) ?? "not-joined";
}

/**
 * Returns for each earlier end of day, newest first, whether sales can follow it that begin with a
 * receipt number: by its last number as reported, or else by that of the last known sale before it.
 */
function boundariesOf(earlier: readonly ClosingRow[], entries: readonly LedgerEntry[]) {
  let lastNumber: number | null = null;
  const oldestFirst = earlier.toReversed().map(({ id, end }, index, all) => {
    const totals = end?.end === "completed" ? end.totals : undefined;
    const before = all[index - 1]?.id ?? 0;
    const numbers = entries
      .filter(({ afterClosing }) => afterClosing >= before && afterClosing < id)
      .flatMap(numbersOf);
    lastNumber = receiptNumberOf(totals?.receiptTo ?? null) ?? greatest(lastNumber, numbers);
    const after = lastNumber === null ? null : nextReceipt(lastNumber);
    // A terminal whose numbers began with 1 at two ends of day begins with 1 after each of them.
    const restarts = receiptNumberOf(totals?.receiptFrom ?? null) === 1;
    return { id, joins: (from: number) => from === after || (restarts && from === 1) };
  });
  return oldestFirst.toReversed();
}

/** Returns the last receipt number: the farthest after `before`, because the numbers wrap. */
function greatest(before: number | null, numbers: readonly number[]): number | null {
  const origin = before ?? numbers[0];
  if (origin === undefined) return null;
  return numbers.reduce(
    (last, one) => (receiptSteps(origin, one) > receiptSteps(origin, last) ? one : last),
    origin,
  );
}

/**
 * Whether each receipt number of the sales is between `from` and `to` and occurs once. Otherwise an
 * unknown end of day ran, or the terminal was emptied, between the sales.
 */
function areInside(entries: readonly LedgerEntry[], from: number, to: number): boolean {
  const numbers = entries.flatMap(({ receiptNumber }) => receiptNumberOf(receiptNumber) ?? []);
  const reach = receiptSteps(from, to);
  const isUnique = new Set(numbers).size === numbers.length;
  return isUnique && numbers.every((number) => receiptSteps(from, number) <= reach);
}

/**
 * Returns the attempts from the sale with the receipt number `from` on, if the numbers of all of
 * them are between `from` and `to`. An unknown end of day has closed the sales before.
 */
function beginningWith(
  since: readonly LedgerEntry[],
  from: number,
  to: number,
): readonly LedgerEntry[] | undefined {
  const first = since.findLastIndex(({ receiptNumber }) => receiptNumberOf(receiptNumber) === from);
  if (first < 0) return undefined;
  const rest = since.slice(first);
  return areInside(rest, from, to) ? rest : undefined;
}

/** Marks the attempts that have missing receipt numbers between the sales before and after them. */
function withGaps(
  entries: readonly LedgerEntry[],
  { receiptFrom, receiptTo }: ClosingTotals,
): PlacedEntry[] {
  const given = new Set(entries.flatMap(numbersOf));
  const from = receiptNumberOf(receiptFrom);
  const to = receiptNumberOf(receiptTo);
  const before = from === null ? null : from === 1 ? RECEIPT_MAX : from - 1;
  const after = to === null ? null : nextReceipt(to);
  const earlier = lastNumbers(entries, before);
  const later = lastNumbers(entries.toReversed(), after).reverse();
  return entries.map((entry, index) => {
    const missing = missingBetween(earlier[index] ?? null, later[index] ?? null, given);
    return { ...entry, isInGap: missing > 0 };
  });
}

/** Returns for each attempt the receipt number of the last sale before it, or `first` if none. */
function lastNumbers(entries: readonly LedgerEntry[], first: number | null): (number | null)[] {
  let last = first;
  return entries.map(({ receiptNumber }) => {
    const before = last;
    last = receiptNumberOf(receiptNumber) ?? last;
    return before;
  });
}

/**
 * Compares the journal with what was sent to the gateway (docs/rules/18-totals.md). Pure. A sale
 * that waits to be sent, is parked, or was closed by an operator counts as no difference.
 */
export function compareDeliveries(entries: readonly LedgerEntry[]) {
  const sales = entries.filter(({ charged }) => charged === "yes");
  const currencies = [...new Set(sales.map(({ currency }) => currency))];
  return {
    sums: currencies.map((currency) => sumsOf(sales, currency)),
    faults: entries.flatMap(faultOf),
  };
}

function sumsOf(sales: readonly LedgerEntry[], currency: string) {
  const mine = sales.filter((entry) => entry.currency === currency);
  const those = (...states: readonly LedgerEntry["delivery"][]) =>
    countAndSum(mine.filter(({ delivery }) => states.includes(delivery)));
  return {
    currency,
    charged: countAndSum(mine),
    sent: those("sent"),
    /** The sales that wait to be sent, or for an operator because the gateway refuses them. */
    waiting: those("pending", "parked"),
    /** The sales that an operator closed without sending. */
    closed: those("closed"),
  };
}

function countAndSum(entries: readonly LedgerEntry[]) {
  const sumMinor = entries.reduce((sum, { chargedMinor }) => sum + (chargedMinor ?? 0), 0);
  return { count: entries.length, sumMinor };
}

/** Returns the order and the reason if gateway and journal have different facts about it. */
function faultOf(entry: LedgerEntry) {
  const why = whyWrong(entry);
  if (why === undefined) return [];
  const because = reasonTexts[why];
  const { orderId, transactionId, currency, chargedMinor, amountMinor } = entry;
  return [{ orderId, transactionId, currency, because, amountMinor: chargedMinor ?? amountMinor }];
}

function whyWrong(entry: LedgerEntry): Reason | undefined {
  const { charged, delivery, handedMinor, chargedMinor, returnedMinor } = entry;
  if (charged === "yes") {
    if (delivery === null) return "not-handed-off";
    const isOther = handedMinor !== null && chargedMinor !== null && handedMinor !== chargedMinor;
    return isOther ? "other-amount" : undefined;
  }
  if (charged === "unknown" || delivery !== "sent") return undefined;
  if (chargedMinor === null) return "sent-not-charged";
  const isLeft = returnedMinor < chargedMinor;
  return isLeft ? "sent-reversed" : undefined;
}

/** Returns the orders that can explain a difference; none if nothing could be compared. */
export function suspectsOf(body: Reconciliation["body"]): readonly Suspect[] {
  if (body.kind === "receipt-jump") return body.suspects;
  return body.terminal.result === "not-comparable" ? [] : body.terminal.suspects;
}
