import type { Charged } from "../../../shared/catalog/errors.ts";
import type { DeliveryState } from "../../../shared/ipc/contract.ts";
import { RECEIPT_MAX } from "../../attempts/comparison.ts";
import type { TerminalIdentity } from "../../terminal/terminal.ts";
import type { NotCharged } from "../payment.ts";

/**
 * Finds the orders whose wrong answers can explain a difference to the terminal's totals
 * (docs/rules/18-totals.md), from the attempts and the receipt numbers around them. Pure.
 */

/** What comparisons with the terminal's totals need of an attempt, also of an archived attempt. */
export interface LedgerEntry {
  readonly transactionId: string;
  readonly orderId: string;
  /** The number of the last end of day begun before this attempt; 0 before the first end of day. */
  readonly afterClosing: number;
  /** Whether the phase says that the attempt is charged; refunds are in `returnedMinor` only. */
  readonly charged: Charged;
  /** The status that was answered when nothing was charged; null otherwise. */
  readonly answered: NotCharged["status"] | null;
  /** Whether the payment command may have been sent to the terminal. */
  readonly wasSent: boolean;
  readonly amountMinor: number;
  /** What the terminal charged, reversed or not, in minor units; null when it did not charge. */
  readonly chargedMinor: number | null;
  /** The amounts, in minor units, that the terminal can have charged if it charged anything. */
  readonly possibleMinor: readonly number[];
  readonly currency: string;
  readonly exponent: number;
  readonly cardName: string | null;
  readonly receiptNumber: string | null;
  readonly reversalReceipt: string | null;
  /** The identity of the terminal; null where it is no longer known. */
  readonly identity: TerminalIdentity | null;
  /** The transaction's state at the gateway; null when the attempt was never handed off. */
  readonly delivery: DeliveryState | null;
  /** The amount handed off to the supervisor, in minor units; null: no hand-off, or archived. */
  readonly handedMinor: number | null;
  readonly returnedMinor: number;
}

/** The members that the archive stores as long as an end of day can still include the attempt. */
export type KeptLedger = Pick<
  LedgerEntry,
  "wasSent" | "possibleMinor" | "cardName" | "receiptNumber" | "reversalReceipt" | "identity"
>;

export interface PlacedEntry extends LedgerEntry {
  /** Whether receipt numbers are missing between the sales around this attempt. */
  readonly isInGap: boolean;
}

/** An order whose wrong answer may explain a difference between terminal and journal. */
export interface Suspect {
  readonly orderId: string;
  readonly transactionId: string;
  /** The amount, in minor units, by which this order can explain the difference. */
  readonly amountMinor: number;
  /** The attempt's status when it was compared with the terminal's totals. */
  readonly told: "charged" | "reversed" | NotCharged["status"] | "unknown";
  /** Whether another attempt of the order was charged, so that the customer may have paid twice. */
  readonly chargedElsewhere: boolean;
}

/** Returns a receipt number from 1 to {@link RECEIPT_MAX}; null for any other text. */
export function receiptNumberOf(text: string | null): number | null {
  if (text === null || !/^\d+$/.test(text)) return null;
  const number = Number(text);
  return number >= 1 && number <= RECEIPT_MAX ? number : null;
}

export function nextReceipt(number: number): number {
  return (number % RECEIPT_MAX) + 1;
}

/** Returns how many receipt numbers were given after `from`, up to and including `to`. */
export function receiptSteps(from: number, to: number): number {
  return (to - from + RECEIPT_MAX) % RECEIPT_MAX;
}

/** Returns the receipt numbers that an attempt used: for its sale and for its reversal. */
export function numbersOf({
  receiptNumber,
  reversalReceipt,
}: Pick<LedgerEntry, "receiptNumber" | "reversalReceipt">): number[] {
  return [receiptNumber, reversalReceipt].flatMap((text) => receiptNumberOf(text) ?? []);
}

/** Returns how many receipt numbers between those of two sales are missing in `given`. */
export function missingBetween(
  first: number | null,
  second: number | null,
  given: ReadonlySet<number>,
): number {
  if (first === null || second === null) return 0;
  let missing = 0;
  let number = first;
  for (let left = receiptSteps(first, second); left > 1; left--) {
    number = nextReceipt(number);
    if (!given.has(number)) missing += 1;
  }
  return missing;
}

/**
 * How many uncharged payments, with no receipt number missing around them, show that a terminal
 * numbers only sales and reversals. Some terminals also number declines, cancelled payments and
 * their own receipts: there a missing number proves nothing.
 */
const UNCHARGED_MIN = 3;
/** How many attempts before a sale are read to learn how the terminal numbers its receipts. */
export const ENTRIES_BEFORE = 200;

/**
 * Returns the receipt numbers missing before the sale just charged, with the orders that may have
 * used them; undefined: no gap. `entries`: attempts in the order they began, the sale last.
 */
export function judgeJump(entries: readonly LedgerEntry[]) {
  const sale = entries.at(-1);
  if (!sale || receiptNumberOf(sale.receiptNumber) === null) return undefined;
  const former = entries.slice(0, -1).findLastIndex(isNumbered);
  const before = entries[former];
  // A missing number proves nothing across an end of day, which may use or restart numbers.
  if (!before || before.afterClosing !== sale.afterClosing) return undefined;
  const given = new Set(entries.flatMap(numbersOf));
  const missing = missingOf(before, sale, given);
  const between = entries.slice(former + 1, -1).filter(isUncharged);
  if (missing === 0 || missing > between.length) return undefined;
  if (!countsSalesOnly(entries.slice(0, former + 1), given)) return undefined;
  const suspects: readonly Suspect[] = between.map((entry) =>
    suspectOf({ entry: { ...entry, isInGap: true }, amountMinor: entry.amountMinor }, entries),
  );
  return {
    kind: "receipt-jump" as const,
    from: before.receiptNumber ?? "",
    to: sale.receiptNumber ?? "",
    missing,
    suspects,
  };
}

function countsSalesOnly(entries: readonly LedgerEntry[], given: ReadonlySet<number>): boolean {
  let uncharged = 0;
  let waiting = 0;
  let before: LedgerEntry | undefined;
  for (const entry of entries) {
    if (isUncharged(entry)) waiting += 1;
    if (!isNumbered(entry)) continue;
    if (before?.afterClosing === entry.afterClosing) {
      if (missingOf(before, entry, given) > 0) return false;
      uncharged += waiting;
    }
    waiting = 0;
    before = entry;
  }
  return uncharged >= UNCHARGED_MIN;
}

function missingOf(a: LedgerEntry, b: LedgerEntry, given: ReadonlySet<number>): number {
  return missingBetween(receiptNumberOf(a.receiptNumber), receiptNumberOf(b.receiptNumber), given);
}

function isNumbered({ chargedMinor, receiptNumber }: LedgerEntry): boolean {
  return chargedMinor !== null && receiptNumberOf(receiptNumber) !== null;
}

function isUncharged({ wasSent, chargedMinor }: LedgerEntry): boolean {
  return wasSent && chargedMinor === null;
}

/** How many wrong answers together may explain a difference; more would match by coincidence. */
const sizes = [1, 2, 3];
/** How many of the newest orders are combined in threes and in twos to explain a difference. */
const TRIPLES_AMONG = 60;
const PAIRS_AMONG = 500;
const NAMED_MAX = 20;

/** Whether the attempt should be in the terminal's totals: charged and not reversed there. */
export function isCounted({ charged, chargedMinor }: LedgerEntry): boolean {
  return charged !== "no" && chargedMinor !== null;
}

/**
 * Returns the fewest orders whose answers, if wrong, explain the difference to the terminal's
 * totals. `count`: the difference of the numbers of sales, if the terminal reported a number.
 */
export function explained(
  compared: readonly PlacedEntry[],
  differenceMinor: number,
  count: number | null,
  all: readonly LedgerEntry[],
): { readonly suspects: readonly Suspect[]; readonly isSole: boolean } {
  const candidates = compared
    .filter((entry) => entry.wasSent && isCounted(entry) === differenceMinor < 0)
    .flatMap((entry) => {
      const { chargedMinor, possibleMinor } = entry;
      const amounts = chargedMinor === null ? new Set(possibleMinor) : [chargedMinor];
      return Array.from(amounts, (amountMinor) => ({ entry, amountMinor }));
    });
  const likelyFirst = sizes.toSorted((a, b) => Number(b === count) - Number(a === count));
  for (const size of likelyFirst) {
    const found = sets(candidates, Math.abs(differenceMinor), size);
    if (found.length === 0) continue;
    const best = mostLikely(found);
    const named = new Map(best.flat().map((one) => [one.entry.transactionId, one]));
    const few = [...named.values()].slice(0, NAMED_MAX);
    const suspects = few.map((one) => suspectOf(one, all));
    return { suspects, isSole: best.length === 1 };
  }
  return { suspects: [], isSole: false };
}

interface Candidate {
  readonly entry: PlacedEntry;
  readonly amountMinor: number;
}

/** Returns every set of `size` attempts whose amounts add up to `sumMinor`. */
function sets(candidates: readonly Candidate[], sumMinor: number, size: number): Candidate[][] {
  if (size === 1)
    return candidates.filter((one) => one.amountMinor === sumMinor).map((one) => [one]);
  const among = candidates.slice(size === 2 ? -PAIRS_AMONG : -TRIPLES_AMONG);
  return among.flatMap((one, index) => {
    const rest = among.slice(index + 1).filter(({ entry }) => entry !== one.entry);
    if (one.amountMinor >= sumMinor) return [];
    return sets(rest, sumMinor - one.amountMinor, size - 1).map((others) => [one, ...others]);
  });
}

/** Returns the sets of likely orders: near missing numbers, not declined, or of unknown outcome. */
function mostLikely(found: readonly Candidate[][]): readonly Candidate[][] {
  const signs: ReadonlyArray<(entry: PlacedEntry) => boolean> = [
    ({ isInGap }) => isInGap,
    ({ answered }) => answered !== "declined",
    ({ charged }) => charged === "unknown",
  ];
  return signs.reduce((kept, isLikely) => {
    const likely = kept.filter((set) => set.every(({ entry }) => isLikely(entry)));
    return likely.length > 0 ? likely : kept;
  }, found);
}

function suspectOf({ entry, amountMinor }: Candidate, all: readonly LedgerEntry[]): Suspect {
  const { orderId, transactionId } = entry;
  return {
    orderId,
    transactionId,
    amountMinor,
    told: answerOf(entry),
    chargedElsewhere: all.some(
      (other) =>
        other.orderId === orderId &&
        other.transactionId !== transactionId &&
        other.charged === "yes",
    ),
  };
}

function answerOf({ charged, chargedMinor, answered }: LedgerEntry): Suspect["told"] {
  if (charged === "yes") return "charged";
  if (charged === "unknown") return "unknown";
  return chargedMinor === null ? (answered ?? "failed") : "reversed";
}

/** The result of {@link judgeJump}: receipt numbers that no known transaction has. */
export type JumpBody = NonNullable<ReturnType<typeof judgeJump>>;
