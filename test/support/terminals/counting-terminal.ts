import type {
  PaymentEnd,
  TelecollectionEnd,
  TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import type { House } from "../house/payment-house.ts";
import { report, timeOfDay } from "./reports.ts";
import { aborted, lost } from "./scripted-terminal.ts";

/** A scripted terminal with a storage of its own: numbers, totals, and what it hides. */
export class CountingTerminal {
  readonly #at: House;
  /** The number of the last receipt. */
  last: number;
  /** The last receipt that was closed; undefined before the first one was given. */
  #closed: number | undefined;
  stored: { receipt: number; amountMinor: number }[] = [];
  /** Declined payments have a receipt too. */
  numbersDeclines = false;
  currencyNumeric = "978";
  /** Records so far: each has a second of its own. */
  #reported = 0;

  constructor(at: House, last = 0) {
    this.#at = at;
    this.last = last;
    this.sells();
    at.terminal.telecollect = () => Promise.resolve(this.close());
    at.terminal.reversal = (order, observer) => {
      const { receiptNumber, amountMinor } = order;
      this.stored = this.stored.filter(({ receipt }) => text(receipt) !== receiptNumber);
      const reversal = report({
        amountMinor,
        receiptNumber: text(this.#next()),
        traceNumber: this.#trace(),
        originalTrace: `0${receiptNumber}1`,
        localTime: timeOfDay(this.#reported++),
      });
      observer.report(reversal);
      this.#reports(reversal);
      observer.ackArrived();
      return Promise.resolve({ end: "completed", ticket: "" });
    };
  }

  /** From now on every payment is approved and heard. */
  sells(): void {
    this.#at.terminal.script = (order, observer) => {
      const sale = this.#report(this.#store(order.amountMinor), order.amountMinor);
      observer.report(sale);
      this.#reports(sale);
      observer.ackArrived();
      return Promise.resolve({ end: "completed", ticket: "" });
    };
  }

  /** Payments are stored, and the terminal says that nothing was. */
  hides(end: PaymentEnd = aborted): void {
    this.#at.terminal.script = (order) => {
      this.#store(order.amountMinor);
      return Promise.resolve(end);
    };
  }

  /** Payments are reported as charged, and nothing is stored. */
  forgets(): void {
    this.#at.terminal.script = (order, observer) => {
      observer.report(this.#report(this.#next(), order.amountMinor));
      observer.ackArrived();
      return Promise.resolve({ end: "completed", ticket: "" });
    };
  }

  declines(): void {
    this.#at.terminal.script = () => {
      if (this.numbersDeclines) this.#next();
      return Promise.resolve(aborted);
    };
  }

  /** The end of the payment is lost; the terminal reports nothing more of it, and may store it. */
  loses(isStored: boolean): void {
    this.#at.terminal.last = { kind: "not-told", why: "the answer names none" };
    this.#at.terminal.script = (order) => {
      if (isStored) this.#store(order.amountMinor);
      return Promise.resolve(lost("line broken"));
    };
  }

  /** The end of day: totals as a terminal reports them, and an empty storage. */
  close(): Extract<TelecollectionEnd, { end: "completed" }> {
    const sumMinor = this.stored.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
    const count = this.stored.length;
    const from = this.#closedFrom;
    const totals =
      this.last === this.#closed
        ? { receiptFrom: null, receiptTo: null, count, sumMinor }
        : { receiptFrom: text(from), receiptTo: text(this.last), count, sumMinor };
    this.stored = [];
    this.#closed = this.last;
    const applications = [{ name: "Mastercard", status: "0", count, sumMinor }];
    return { end: "completed", applications, totals, ticket: "END OF DAY" };
  }

  /** Counts from 1 again. */
  restart(): void {
    this.last = 0;
    this.#closed = 0;
  }

  get #closedFrom(): number {
    return ((this.#closed ?? 0) % 9_999) + 1;
  }

  #store(amountMinor: number): number {
    const receipt = this.#next();
    this.stored.push({ receipt, amountMinor });
    return receipt;
  }

  #next(): number {
    this.#closed ??= this.last;
    this.last = (this.last % 9_999) + 1;
    return this.last;
  }

  /** Sets the last transaction of the next baseline. */
  #reports(last: TransactionReport): void {
    const { terminal } = this.#at;
    terminal.baseline = { ...terminal.baseline, last: { kind: "transaction", report: last } };
  }

  #trace(): string {
    return `0${text(this.last)}1`;
  }

  #report(receipt: number, amountMinor: number) {
    const numbers = { receiptNumber: text(receipt), traceNumber: `0${text(receipt)}1` };
    const localTime = timeOfDay(this.#reported++);
    return report({ amountMinor, ...numbers, localTime, currencyNumeric: this.currencyNumeric });
  }
}

const text = (receipt: number): string => String(receipt).padStart(4, "0");
