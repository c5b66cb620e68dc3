import { RECEIPT_MAX } from "../matching/comparison.ts";
import type { LedgerEntry } from "./reconciliation.ts";

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
