import type { Charged } from "../../../shared/catalog/errors.ts";
import type { DeliveryState } from "../../../shared/ipc/contract.ts";
import { RECEIPT_MAX } from "../../matching/comparison.ts";
import type { TerminalIdentity } from "../../terminal/terminal.ts";
import type { NotCharged } from "../payment.ts";

/**
 * What a comparison with the terminal sees of an attempt (docs/rules/18-totals.md): its entry, the
 * receipt numbers around it, and the orders that can explain a difference. Pure.
 */

/** One attempt as a comparison needs it, also of the archive (docs/rules/18-totals.md). */
export interface LedgerEntry {
  readonly transactionId: string;
  readonly orderId: string;
  /** The newest end of day that had been begun before this attempt; 0 before the first one. */
  readonly afterClosing: number;
  /** Of its phase: returns at the gateway are in `returnedMinor`. */
  readonly charged: Charged;
  /** The status that was answered when nothing was charged. */
  readonly answered: NotCharged["status"] | null;
  /** The command may have left. */
  readonly wasSent: boolean;
  readonly amountMinor: number;
  /** Charged by the terminal, reversed or not; null unless it did. */
  readonly chargedMinor: number | null;
  /** Sums that the terminal can have charged, should it have charged something. */
  readonly possibleMinor: readonly number[];
  readonly currency: string;
  readonly exponent: number;
  readonly cardName: string | null;
  readonly receiptNumber: string | null;
  /** The receipt number of its reversal at the terminal. */
  readonly reversalReceipt: string | null;
  /** null where it is not known any more. */
  readonly identity: TerminalIdentity | null;
  /** null: it was never handed off. */
  readonly delivery: DeliveryState | null;
  /** The amount that was handed off; null when it was not, or is in the archive. */
  readonly handedMinor: number | null;
  /** Minor units that went back by way of the gateway. */
  readonly returnedMinor: number;
}

/** Facts kept in the archive as long as an end of day may still be compared with them. */
export type KeptLedger = Pick<
  LedgerEntry,
  "wasSent" | "possibleMinor" | "cardName" | "receiptNumber" | "reversalReceipt" | "identity"
>;

export interface PlacedEntry extends LedgerEntry {
  /** Receipt numbers are missing between the sales around it. */
  readonly isInGap: boolean;
}

/** An order that a difference could be about. */
export interface Suspect {
  readonly orderId: string;
  readonly transactionId: string;
  /** Minor units that the terminal has more, or less, if this order is the difference. */
  readonly amountMinor: number;
  /** The status of this attempt when it was compared. */
  readonly told: "charged" | "reversed" | NotCharged["status"] | "unknown";
  /** Another attempt of the order was charged: the customer may have paid twice. */
  readonly chargedElsewhere: boolean;
}

/** The number of a receipt, from 1 to {@link RECEIPT_MAX}; null: absent, zero, not digits. */
export function receiptNumberOf(text: string | null): number | null {
  if (text === null || !/^\d+$/.test(text)) return null;
  const number = Number(text);
  return number >= 1 && number <= RECEIPT_MAX ? number : null;
}

/** The number that a terminal gives after this one. */
export function nextReceipt(number: number): number {
  return (number % RECEIPT_MAX) + 1;
}

/** The number of receipts that were given after `from`, up to `to`. */
export function receiptSteps(from: number, to: number): number {
  return (to - from + RECEIPT_MAX) % RECEIPT_MAX;
}

/** The numbers that an attempt used: that of its sale, that of its reversal. */
export function numbersOf({
  receiptNumber,
  reversalReceipt,
}: Pick<LedgerEntry, "receiptNumber" | "reversalReceipt">): number[] {
  return [receiptNumber, reversalReceipt].flatMap((text) => receiptNumberOf(text) ?? []);
}

/** Numbers that were given between two sales, and to none of `given`. */
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
 * The number of payments that charged nothing between sales that followed each other without a gap,
 * from which on a missing number says something. Terminals may number declines, cancelled payments
 * and receipts of their own too: only a terminal that was seen to number nothing but sales and
 * reversals is judged.
 */
const UNCHARGED_MIN = 3;
/** The number of attempts before a sale that show how the terminal counts. */
export const ENTRIES_BEFORE = 200;

/**
 * A number that was given before a sale, to none that we know; undefined: there is none. `entries`:
 * in the order they were begun, up to a sale that has just been charged.
 */
export function judgeJump(entries: readonly LedgerEntry[]) {
  const sale = entries.at(-1);
  if (!sale || receiptNumberOf(sale.receiptNumber) === null) return undefined;
  const former = entries.slice(0, -1).findLastIndex(isNumbered);
  const before = entries[former];
  // An end of day may number its own receipt, or begin anew.
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

/** The terminal was asked, and what is known says that nothing was charged, or nothing is known. */
function isUncharged({ wasSent, chargedMinor }: LedgerEntry): boolean {
  return wasSent && chargedMinor === null;
}

/** Numbers of orders that together explain a difference; more do so only by coincidence. */
const sizes = [1, 2, 3];
/** The most orders of which sets of three, and pairs, are tried. */
const TRIPLES_AMONG = 60;
const PAIRS_AMONG = 500;
const NAMED_MAX = 20;

/** Whether the terminal's totals should have it: charged, and not reversed there. */
export function isCounted({ charged, chargedMinor }: LedgerEntry): boolean {
  return charged !== "no" && chargedMinor !== null;
}

/**
 * The fewest orders that together are the difference: their answers differ from what the terminal's
 * totals say. `count` is the difference of the counts where the terminal reported one.
 */
export function explained(
  compared: readonly PlacedEntry[],
  differenceMinor: number,
  count: number | null,
  all: readonly LedgerEntry[],
): { readonly suspects: readonly Suspect[]; readonly isSole: boolean } {
  const candidates = compared
    .filter((entry) => entry.wasSent && isCounted(entry) === differenceMinor < 0)
    .flatMap((entry) => amountsOf(entry).map((amountMinor) => ({ entry, amountMinor })));
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

function amountsOf({ chargedMinor, possibleMinor }: LedgerEntry): readonly number[] {
  return chargedMinor === null ? [...new Set(possibleMinor)] : [chargedMinor];
}

/** Every set of `size` attempts whose amounts make up the sum. */
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

/** Of the sets, those where numbers are missing; of these, those without a certain answer. */
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

/** A number that was given between two sales of ours, to none that we know. */
export type JumpBody = NonNullable<ReturnType<typeof judgeJump>>;
