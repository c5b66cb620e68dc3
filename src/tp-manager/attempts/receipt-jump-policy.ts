import { missingBetween, numbersOf, receiptNumberOf } from "./receipt-number-policy.ts";
import type { JumpBody, LedgerEntry } from "./reconciliation.ts";
import { suspectOf } from "./suspect-policy.ts";

/**
 * A rule for numbers that are missing between two sales of ours (docs/rules/18-totals.md). Pure.
 *
 * Terminals may number declines, cancelled payments and receipts of their own too. So a missing
 * number says something only on a terminal that was seen to number nothing but sales and reversals:
 * between sales that followed each other without a gap it has ended {@link UNCHARGED_MIN} payments
 * that charged nothing, and no number was ever missing.
 */
const UNCHARGED_MIN = 3;
/** So many attempts before a sale say how the terminal counts. */
export const LOOKED_BACK = 200;

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
