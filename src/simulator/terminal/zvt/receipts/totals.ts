import { type Totals, totalsGroups } from "../../../../zvt/index.ts";
import type { StoredTransaction } from "../../memory/memory.ts";
import { localTime } from "../machine/local-time.ts";
import type { Process } from "../machine/process.ts";
import { zvtCard } from "../machine/zvt-cards.ts";
import { amountText, plain, type ReceiptLine, spread } from "./receipt-text.ts";

/** One byte for the count in field 60 (docs/zvt.md 7.1). */
const COUNT_MAX = 0xff;

/**
 * Reports the totals since the last end of day (docs/zvt.md 7.1), and answers them as print lines.
 * `trace`: of the contact with the host, when there was one.
 */
export async function reportTotals(
  process: Process,
  trace: number | null,
): Promise<readonly ReceiptLine[]> {
  const { memory, now, options, registration } = process.parts;
  const counted = memory.turnover.filter(counts);
  const allInFirst = process.parts.is("totals-in-first-group");
  const totals = totalsOf(memory.turnover, counted, allInFirst);
  const amount = totals.groups.reduce((sum, group) => sum + group.amount, 0);
  const { date, time } = localTime(now);
  await process.report({
    fields: {
      resultCode: 0x00,
      amount,
      totals,
      ...(trace === null ? {} : { trace: String(trace).padStart(6, "0") }),
      time,
      date: date.slice(4),
    },
  });
  const currency = options.behaviour.currencies[0] as string;
  const line = (name: string, count: number, amountMinor: number) =>
    plain(
      spread(`${count} ${name}`, amountText({ amountMinor, currency }), registration.printerWidth),
    );
  return [
    ...totals.groups
      .filter(({ count }) => count > 0)
      .map((group) => line(group.group, group.count, group.amount)),
    line("total", counted.length, amount),
  ];
}

/** Whether a transaction has moved money and was not taken back since. */
function counts({ kind, state }: StoredTransaction): boolean {
  return state === "stored" && (kind === "payment" || kind === "booking" || kind === "refund");
}

function totalsOf(
  turnover: readonly StoredTransaction[],
  counted: readonly StoredTransaction[],
  allInFirst: boolean,
): Totals {
  const groups = totalsGroups.map((group, index) => {
    const mine = counted.filter(
      ({ card }) => (allInFirst ? 0 : zvtCard(card).totalsGroup) === index,
    );
    const amount = mine.reduce(
      (sum, { kind, amountMinor }) => sum + (kind === "refund" ? -amountMinor : amountMinor),
      0,
    );
    // The field has no sign: a negative sum is reported as zero.
    return { group, count: Math.min(mine.length, COUNT_MAX), amount: Math.max(amount, 0) };
  });
  return {
    receiptFrom: receiptNumber(turnover[0]),
    receiptTo: receiptNumber(turnover.at(-1)),
    groups,
  };
}

function receiptNumber(stored: StoredTransaction | undefined): string {
  return String(stored?.receiptNumber ?? 0).padStart(4, "0");
}
