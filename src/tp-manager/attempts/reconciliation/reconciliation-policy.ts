import { RECEIPT_MAX, sameTerminal } from "../../matching/comparison.ts";
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

/**
 * Rules for comparing the totals of an end of day with the journal (docs/rules/18-totals.md). Pure.
 * Where the comparison could be wrong for another reason than a sale that was answered wrongly,
 * nothing is compared: false alarms about money would soon be ignored.
 */

export type ClosingVerdict = ReturnType<typeof compareClosing>;
/** The two sums, which agree or differ. */
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
  /** Sums by the name of the card, as each spells it. They are only listed. */
  readonly cards: { readonly terminal: readonly CardSum[]; readonly journal: readonly CardSum[] };
}

export interface Reconciliation {
  readonly id: number;
  readonly atMs: number;
  /** "jump": numbers are missing. "refuted": they are, and an end of day agreed all the same. */
  readonly result: ClosingVerdict["result"] | "jump" | "refuted";
  readonly body: ClosingBody | JumpBody;
}

/** An end of day that may have closed something. */
export interface ClosingRow {
  readonly id: number;
  readonly startedAtMs: number;
  /** null: its end was not received. */
  readonly end: TelecollectionEnd | null;
  /** null in rows of older versions. */
  readonly identity: TerminalIdentity | null;
}

/** One end of day with everything that it is compared with. */
export interface ClosingPeriod {
  readonly closing: ClosingRow;
  /** Earlier ones after which its range may begin, newest first. */
  readonly earlier: readonly ClosingRow[];
  /** Attempts since the oldest of these, in the order they were begun. */
  readonly entries: readonly LedgerEntry[];
  /** Attempts are missing here: too many, or in an archive without their times. */
  readonly isCutOff: boolean;
}

/** `totals`: those that the period's end of day reported. `isShared`: TERMINAL_SHARED. */
export function compareClosing(
  period: ClosingPeriod,
  totals: ClosingTotals | undefined,
  isShared: boolean,
) {
  const no = (because: string) => ({ result: "not-comparable" as const, because });
  const { identity } = period.closing;
  if (!identity) return no("an older version ran it");
  if (isShared) return no("the terminal is shared with others (TERMINAL_SHARED)");
  if (!totals) return no("the terminal reported no totals");
  if (totals.sumMinor === null) return no("the terminal reported two sums that differ");
  if (period.isCutOff) return no("sales of that time may be in the archive of an older version");
  const compared = comparedEntries(period, identity, totals);
  if (typeof compared === "string") return no(compared);
  const sent = compared.filter(({ wasSent }) => wasSent);
  const isElsewhere = sent.some((one) => one.identity && !sameTerminal(one.identity, identity));
  if (isElsewhere) return no("another terminal was used since the last end of day");
  const currencies = new Set(sent.map(({ currency }) => currency));
  if (currencies.size > 1) return no("sales in more than one currency: totals name none");
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
    /** The count is null where the terminal reported none. */
    terminal: { count, sumMinor },
    journal: { count: charged.length, sumMinor: journalMinor },
    /** The terminal's sum less the journal's. */
    differenceMinor,
  };
  if (differenceMinor === 0) {
    const none: readonly Suspect[] = [];
    return { result: "agrees" as const, because: "", ...facts, suspects: none, isSole: false };
  }
  const counted = count === null ? null : Math.abs(count - charged.length);
  const { suspects, isSole } = explained(withGaps(compared, totals), differenceMinor, counted, all);
  const because =
    differenceMinor > 0
      ? "the terminal has closed more than the journal knows as charged"
      : "the terminal has closed less than the journal knows as charged";
  return { result: "differs" as const, because, ...facts, suspects, isSole };
}

/** The attempts that the totals are about; a text: why that cannot be said. */
function comparedEntries(
  { earlier, entries }: ClosingPeriod,
  identity: TerminalIdentity,
  { receiptFrom, receiptTo }: ClosingTotals,
): readonly LedgerEntry[] | string {
  const from = receiptNumberOf(receiptFrom);
  const to = receiptNumberOf(receiptTo);
  const newest = earlier[0];
  if (newest?.identity && !sameTerminal(newest.identity, identity)) {
    return "the last end of day was that of another terminal";
  }
  const since = entries.filter(({ afterClosing }) => afterClosing >= (newest?.id ?? 0));
  if (from === null || to === null) {
    if (!since.some(isCounted)) return since;
    return "the terminal reported no receipt numbers; its own end of day may have closed the sales";
  }
  for (const boundary of boundariesOf(earlier, entries)) {
    if (!boundary.joins(from)) continue;
    const joined = entries.filter(({ afterClosing }) => afterClosing >= boundary.id);
    if (areInside(joined, from, to)) return joined;
  }
  return beginningWith(since, from, to) ?? "the receipt numbers do not join our last end of day";
}

/**
 * Ends of day after which a range may begin, newest first. The last number before an end of day is
 * the one that it reported, or that of the last sale before it where its end was not received.
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
    // A terminal that began with 1 then and begins with 1 now counts anew after each end of day.
    const restarts = receiptNumberOf(totals?.receiptFrom ?? null) === 1;
    return { id, joins: (from: number) => from === after || (restarts && from === 1) };
  });
  return oldestFirst.toReversed();
}

/** The number that was given last, of those that follow `before`. */
function greatest(before: number | null, numbers: readonly number[]): number | null {
  const origin = before ?? numbers[0];
  if (origin === undefined) return null;
  return numbers.reduce(
    (last, one) => (receiptSteps(origin, one) > receiptSteps(origin, last) ? one : last),
    origin,
  );
}

/**
 * Every sale's number is in the range, and none stands there twice. Otherwise the terminal has run
 * an end of day, or was emptied, between them.
 */
function areInside(entries: readonly LedgerEntry[], from: number, to: number): boolean {
  const numbers = entries.flatMap(({ receiptNumber }) => receiptNumberOf(receiptNumber) ?? []);
  const reach = receiptSteps(from, to);
  const isUnique = new Set(numbers).size === numbers.length;
  return isUnique && numbers.every((number) => receiptSteps(from, number) <= reach);
}

/**
 * The attempts from the sale that has the range's first number, when all after it are inside. Sales
 * from before were closed by an end of day that is not known here.
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

/** Those that stand where numbers are missing between the sales around them. */
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

/** For each attempt the number of the last sale before it. */
function lastNumbers(entries: readonly LedgerEntry[], first: number | null): (number | null)[] {
  let last = first;
  return entries.map(({ receiptNumber }) => {
    const before = last;
    last = receiptNumberOf(receiptNumber) ?? last;
    return before;
  });
}

/**
 * Rules for comparing the journal with what the gateway was sent (docs/rules/18-totals.md). Pure. A
 * sale that is on its way, refused and waiting, or closed by an operator is no difference.
 */
export function compareDeliveries(entries: readonly LedgerEntry[]) {
  const sales = entries.filter(({ charged }) => charged === "yes");
  const currencies = [...new Set(sales.map(({ currency }) => currency))];
  return {
    sums: currencies.map((currency) => sumsOf(sales, currency)),
    faults: entries.flatMap(faultOf),
  };
}

/** How much of the charged sales the gateway has, of one currency. */
function sumsOf(sales: readonly LedgerEntry[], currency: string) {
  const mine = sales.filter((entry) => entry.currency === currency);
  const those = (...states: readonly LedgerEntry["delivery"][]) =>
    countAndSum(mine.filter(({ delivery }) => states.includes(delivery)));
  return {
    currency,
    charged: countAndSum(mine),
    sent: those("sent"),
    /** They are on their way, or wait for an operator. */
    waiting: those("pending", "parked"),
    /** An operator closed them without sending. */
    closed: those("closed"),
  };
}

function countAndSum(entries: readonly LedgerEntry[]) {
  const sumMinor = entries.reduce((sum, { chargedMinor }) => sum + (chargedMinor ?? 0), 0);
  return { count: entries.length, sumMinor };
}

/** The order, if the gateway has something else of it than the journal. */
function faultOf(entry: LedgerEntry) {
  const because = whyWrong(entry);
  if (because === undefined) return [];
  const { orderId, transactionId, currency, chargedMinor, amountMinor } = entry;
  return [{ orderId, transactionId, currency, because, amountMinor: chargedMinor ?? amountMinor }];
}

function whyWrong(entry: LedgerEntry): string | undefined {
  const { charged, delivery, handedMinor, chargedMinor, returnedMinor } = entry;
  if (charged === "yes") {
    if (delivery === null) return "charged, and never handed over";
    const isOther = handedMinor !== null && chargedMinor !== null && handedMinor !== chargedMinor;
    return isOther ? "handed over with another amount than was charged" : undefined;
  }
  if (charged === "unknown" || delivery !== "sent") return undefined;
  if (chargedMinor === null) return "not charged, and the gateway has it";
  const isLeft = returnedMinor < chargedMinor;
  return isLeft ? "reversed at the terminal, and the gateway has it" : undefined;
}

/** The orders that a comparison suspects; none where nothing could be compared. */
export function suspectsOf(body: Reconciliation["body"]): readonly Suspect[] {
  if (body.kind === "receipt-jump") return body.suspects;
  return body.terminal.result === "not-comparable" ? [] : body.terminal.suspects;
}
