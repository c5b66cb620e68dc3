import { emptyReceipt } from "../../src/shared/receipt.ts";
import type { TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { identity, report } from "../support/terminals/reports.ts";

/** Every order of the small scope costs this, and so did the sale before: the worst case. */
export const AMOUNT_MINOR = 500;

/** How a terminal writes the names of a transaction. */
export type Spelling = "full" | "short" | "no receipt" | "no moment" | "time alone" | "blank";

/** A transaction as the bank and the terminal know it: the truth of the model. */
export interface Entry {
  /** The order whose command the terminal carried out. */
  readonly order: string;
  /** The command among the order's commands, in a walk that asks for more than one. */
  readonly attempt?: number;
  /** Absent: the amount of the small scope. */
  readonly amountMinor?: number;
  readonly receipt: number;
  readonly trace: number;
  /** Of the terminal's own clock. */
  readonly second: number;
  /** The reversed entry; null for a sale. */
  readonly original: number | null;
  readonly money: "pending" | "standing" | "returned";
  /** Approved after the terminal had said that nothing was sold. */
  readonly late: boolean;
  /** How the terminal reports the entry from now on, where that differs from its first report. */
  readonly reportedWith?: "other numbers" | "another time" | undefined;
}

/** The moment of a second of the terminal's own clock. */
export const momentOf = (second: number): Date => new Date(2026, 0, 15, 13, 0, second);

const NUMBERS = 10_000;
const OTHER_NUMBERS = 40;
const OTHER_SECONDS = 70;

const reports = new Map<string, TransactionReport>();

/** The report of an entry. No rule reads a ticket, so the oracle finds the entry by that. */
export function reportOf(
  entries: readonly Entry[],
  index: number,
  spelling: Spelling,
): TransactionReport {
  const entry = entries[index] as Entry;
  const original = entry.original === null ? null : (entries[entry.original] as Entry);
  const { reportedWith, amountMinor = AMOUNT_MINOR } = entry;
  const others = reportedWith === "other numbers" ? OTHER_NUMBERS : 0;
  const [receipt, trace] = [(entry.receipt + others) % NUMBERS, entry.trace + others];
  const second = entry.second + (reportedWith === "another time" ? OTHER_SECONDS : 0);
  const names = [receipt, trace, second, amountMinor, original?.trace ?? "", spelling];
  const name = [index, ...names].join("/");
  const blank = spelling === "blank";
  const nameless = blank || spelling === "time alone";
  const untimed = blank || spelling === "no moment";
  const digits = (value: number, width: number): string =>
    String(value).padStart(spelling === "short" ? 1 : width, "0");
  return named(name, {
    receiptNumber: nameless || spelling === "no receipt" ? null : digits(receipt, 4),
    traceNumber: nameless ? null : digits(trace, 6),
    originalTrace: original === null ? null : digits(original.trace, 6),
    amountMinor,
    ...(untimed ? { localDate: null, localTime: null } : namedMoment(second)),
    fallbackTicket: String(index),
  });
}

function namedMoment(second: number): Pick<TransactionReport, "localDate" | "localTime"> {
  const said = momentOf(second);
  const two = (value: number): string => String(value).padStart(2, "0");
  return {
    localDate: two(said.getMonth() + 1) + two(said.getDate()),
    localTime: said.toTimeString().slice(0, 8).replaceAll(":", ""),
  };
}

/** A report that is not good. */
export const notGood = named("not good", {
  good: false,
  resultCode: "6C",
  resultText: "aborted",
  reason: "cancelled",
  receiptNumber: null,
  traceNumber: null,
  localDate: null,
  localTime: null,
  fallbackTicket: "",
});

/** The entry of a report that the model made; null for one that is not good. */
export function entryOf({ fallbackTicket }: TransactionReport): number | null {
  return fallbackTicket === "" ? null : Number(fallbackTicket);
}

/** A report's part of a state's key is its name: else the keys of a walk are mostly receipts. */
function named(name: string, change: Partial<TransactionReport>): TransactionReport {
  const known = reports.get(name);
  if (known) return known;
  const made = report({
    amountMinor: AMOUNT_MINOR,
    terminalId: identity.terminalId,
    authorisationNumber: null,
    receipt: emptyReceipt,
    ...change,
  });
  Object.defineProperty(made, "toJSON", { value: () => name });
  reports.set(name, made);
  return made;
}
