import type {
  ClosingTotals,
  LastTransaction,
  TransactionReport,
} from "../../src/tp-manager/terminal/terminal.ts";
import { report as sampleReport } from "../support/terminals/reports.ts";
import type { Spelling } from "./plan.ts";

interface Stored {
  readonly sale: number;
  readonly report: TransactionReport;
}

/** The numbers that a terminal gives, and how it writes them. */
export class ModelNumbers {
  readonly #now: () => number;
  #receipt = 9_996;
  #trace = 999_990;
  /** The first number of what is stored. */
  #first = this.#receipt;

  constructor(now: () => number) {
    this.#now = now;
  }

  report(change: Partial<TransactionReport>): TransactionReport {
    this.skipTrace();
    const at = new Date(this.#now());
    const two = (n: number): string => String(n).padStart(2, "0");
    return sampleReport({
      receiptNumber: String(this.#receipt).padStart(4, "0"),
      traceNumber: String(this.#trace).padStart(6, "0"),
      localDate: two(at.getMonth() + 1) + two(at.getDate()),
      localTime: two(at.getHours()) + two(at.getMinutes()) + two(at.getSeconds()),
      ...change,
    });
  }

  skipTrace(): void {
    this.#trace = this.#trace === 999_999 ? 1 : this.#trace + 1;
  }

  nextReceipt(): void {
    this.#receipt = this.#receipt === 9_999 ? 1 : this.#receipt + 1;
  }

  /** Nothing is stored any more: the next number is the first one. */
  emptied(): void {
    this.#first = this.#receipt;
  }

  /** Of what is stored, with four digits; null: nothing was. */
  get range(): Pick<ClosingTotals, "receiptFrom" | "receiptTo"> {
    if (this.#first === this.#receipt) return { receiptFrom: null, receiptTo: null };
    const last = this.#receipt === 1 ? 9_999 : this.#receipt - 1;
    const printed = (number: number): string => String(number).padStart(4, "0");
    return { receiptFrom: printed(this.#first), receiptTo: printed(last) };
  }

  startOver(which: "receipts" | "all"): void {
    this.#receipt = 1;
    if (which === "all") this.#trace = 0;
  }
}

/** What a terminal has stored, and what it says of that. */
export class ModelStorage {
  #stored: Stored[] = [];
  #last: LastTransaction = { kind: "none" };
  /** The one before the last, while the register provably knows of the last one. */
  #before: LastTransaction | undefined;
  #previous: LastTransaction = { kind: "none" };
  #probed = 0;

  /** Visible as the last transaction; `known`: the register provably knows of it. */
  keep(sale: number, report: TransactionReport, known = false): void {
    const others = this.#stored.filter((stored) => stored.report !== report);
    if (this.#stored.length === others.length) this.#previous = this.#last;
    this.#before = known ? this.#previous : undefined;
    this.#stored = [...others, { sale, report }];
    this.#last = { kind: "transaction", report };
  }

  /** Stored, and never reported when the last transaction is asked for. */
  hide(sale: number, report: TransactionReport): void {
    this.#stored = [{ sale, report }, ...this.#stored];
  }

  /** The sales of what is stored, hidden ones too. */
  get sales(): ReadonlySet<number> {
    return new Set(this.#stored.map(({ sale }) => sale));
  }

  find(wanted: (stored: Stored) => boolean): Stored | undefined {
    return this.#stored.findLast(wanted);
  }

  takeBack(sale: number): void {
    this.#stored = this.#stored.filter((stored) => stored.sale !== sale);
    const before = this.#stored.at(-1);
    this.#before = undefined;
    this.#last = before ? { kind: "transaction", report: before.report } : { kind: "none" };
  }

  /** The sale of the last transaction, which is no reversal; undefined: there is none. */
  get lastSale(): number | undefined {
    const last = this.#last;
    if (last.kind !== "transaction" || last.report.originalTrace !== null) return undefined;
    return this.#stored.find(({ report }) => report === last.report)?.sale;
  }

  empty(): void {
    this.#stored = [];
    this.#before = undefined;
    this.#last = { kind: "none" };
  }

  /** `stale`: the terminal has not yet noticed what the register provably knows. */
  lastTransaction(spelling: Spelling, stale: boolean): LastTransaction {
    this.#probed += 1;
    const last = stale ? (this.#before ?? this.#last) : this.#last;
    // One way of spelling in every second answer: two answers about the same differ.
    if (last.kind !== "transaction" || this.#probed % 2 === 0) return last;
    return { kind: "transaction", report: { ...last.report, ...respelled(last.report, spelling) } };
  }
}

function respelled(report: TransactionReport, spelling: Spelling): Partial<TransactionReport> {
  const { receiptNumber, traceNumber } = report;
  switch (spelling) {
    case "full":
      return {};
    case "without-zeros":
      return {
        receiptNumber: receiptNumber?.replace(/^0+/, "") ?? null,
        traceNumber: traceNumber?.replace(/^0+/, "") ?? null,
      };
    case "no-receipt":
      return { receiptNumber: null };
    case "no-trace":
      return { traceNumber: null };
  }
}
