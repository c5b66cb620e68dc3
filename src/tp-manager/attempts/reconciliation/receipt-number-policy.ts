import { RECEIPT_MAX } from "../../matching/comparison.ts";
import type { JumpBody, LedgerEntry } from "./reconciliation.ts";
import { suspectOf } from "./suspect-policy.ts";

/** Receipt numbers count from 1 to {@link RECEIPT_MAX} and begin again. Pure. */

/** null for what is no such number: absent, zero, not digits. */
export function receiptNumberOf(text: string | null): number | null {
  if (text === null || !/^\d+$/.test(text)) return null;
  const number = Number(text);
  return number >= 1 && number <= RECEIPT_MAX ? number : null;
}

/** The number that a terminal gives after this one. */
export function nextReceipt(number: number): number {
  return (number % RECEIPT_MAX) + 1;
}

/** The number before this one. */
export function formerReceipt(number: number): number {
  return number === 1 ? RECEIPT_MAX : number - 1;
}

/** How many numbers were given from one to the other, the other included. */
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
 * A rule for numbers that are missing between two sales of ours (docs/rules/18-totals.md). Pure.
 *
 * Terminals may number declines, cancelled payments and receipts of their own too. So a missing
 * number says something only on a terminal that was seen to number nothing but sales and reversals:
 * between sales that followed each other without a gap it has ended {@link UNCHARGED_MIN} payments
 * that charged nothing, and no number was ever missing.
 */
const UNCHARGED_MIN = 3;
/** How many attempts before a sale show how the terminal counts. */
export const ENTRIES_BEFORE = 200;

/** `entries`: in the order they were begun, up to a sale that has just been charged. */
export function judgeJump(entries: readonly LedgerEntry[]): JumpBody | undefined {
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
  return {
    kind: "receipt-jump",
    from: before.receiptNumber ?? "",
    to: sale.receiptNumber ?? "",
    missing,
    suspects: between.map((entry) =>
      suspectOf({ entry: { ...entry, isInGap: true }, amountMinor: entry.amountMinor }, entries),
    ),
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
