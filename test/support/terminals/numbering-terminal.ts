import type {
  LastTransaction,
  PaymentEnd,
  PaymentObserver,
  PaymentOrder,
  ReversalOrder,
  TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { baseline, report, timeOfDay } from "./reports.ts";
import { lost, ScriptedTerminal } from "./scripted-terminal.ts";

const NUMBER_MAX = 9_999;
/** A technician takes longer than any two records with one number are apart. */
const TECHNICIAN_SECONDS = 5_000;

/** The bank's record of one sale, whatever the terminal calls it. */
interface Sale {
  readonly amountMinor: number;
  readonly report: TransactionReport;
  isReversed: boolean;
}

/** A scripted terminal with a storage of its own: it counts, reports, closes and forgets. */
export class NumberingTerminal extends ScriptedTerminal {
  /** Charges of the bank, the oldest first. */
  readonly bank: Sale[] = [];
  nextReceipt = 1;
  #nextTrace = 1;
  #seconds = 0;
  /** The sales that a receipt number can name. */
  #stored: Sale[] = [];
  /** Whether Repeat Receipt reports the last transaction. */
  repeatsLast = true;

  constructor() {
    super();
    this.script = (order, observer) => this.#sell(order, observer);
    this.reversal = (order, observer) => this.#reverse(order, observer);
    this.store({ kind: "none" });
  }

  /** The bank's charges that nobody has given back, in minor units. */
  get charged(): readonly number[] {
    return this.bank.filter(({ isReversed }) => !isReversed).map((sale) => sale.amountMinor);
  }

  /** Its own end of day: nothing can be reversed any more, the numbers begin again or go on. */
  closeBooks({ restarts }: { readonly restarts: boolean }): void {
    this.#stored = [];
    if (restarts) this.nextReceipt = 1;
  }

  /** A technician empties the memory: numbers begin again, and nothing is reported. */
  clear(): void {
    this.closeBooks({ restarts: true });
    this.#seconds += TECHNICIAN_SECONDS;
    this.#nextTrace = 1;
    this.store({ kind: "none" });
  }

  /** A sale that the register knows nothing of, at the terminal's own keys. */
  sellAtKeys(amountMinor: number): void {
    this.#keep(amountMinor, this.#nextReport(amountMinor, null));
  }

  /** Staff reverse a sale at the terminal's own keys. */
  reverseAtKeys(receiptNumber: string): void {
    const sale = this.#named(receiptNumber, undefined);
    if (sale) this.#giveBack(sale);
  }

  #sell(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const reported = this.#nextReport(order.amountMinor, null);
    if (observer.report(reported) !== "accept") return Promise.resolve(lost("refused"));
    observer.ackArrived();
    this.#keep(order.amountMinor, reported);
    return Promise.resolve({ end: "completed", ticket: "sale" });
  }

  #reverse(order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const sale = this.#named(order.receiptNumber, order.amountMinor);
    if (!sale) return Promise.resolve(refusal("B5", "reversal impossible"));
    if (sale.isReversed) return Promise.resolve(refusal("B4", "already reversed"));
    observer.report(this.#giveBack(sale));
    observer.ackArrived();
    return Promise.resolve({ end: "completed", ticket: "reversal" });
  }

  #giveBack(sale: Sale): TransactionReport {
    sale.isReversed = true;
    const reported = this.#nextReport(sale.amountMinor, sale.report.traceNumber);
    this.store({ kind: "transaction", report: reported });
    return reported;
  }

  #named(receiptNumber: string, amountMinor: number | undefined): Sale | undefined {
    return this.#stored.findLast(
      (sale) =>
        Number(sale.report.receiptNumber) === Number(receiptNumber) &&
        (amountMinor === undefined || sale.amountMinor === amountMinor),
    );
  }

  #keep(amountMinor: number, reported: TransactionReport): void {
    const sale = { amountMinor, report: reported, isReversed: false };
    this.bank.push(sale);
    this.#stored.push(sale);
    this.store({ kind: "transaction", report: reported });
  }

  #nextReport(amountMinor: number, originalTrace: string | null): TransactionReport {
    const receiptNumber = String(this.nextReceipt).padStart(4, "0");
    this.nextReceipt = this.nextReceipt === NUMBER_MAX ? 1 : this.nextReceipt + 1;
    const traceNumber = String(this.#nextTrace++).padStart(6, "0");
    const localTime = timeOfDay(this.#seconds);
    this.#seconds += 7;
    return report({ amountMinor, receiptNumber, traceNumber, originalTrace, localTime });
  }

  /** What the terminal reports from now on as its last transaction. */
  store(last: LastTransaction): void {
    const reported: LastTransaction = this.repeatsLast
      ? last
      : { kind: "not-told", why: "it repeats no receipt" };
    this.last = reported;
    this.baseline = { ...baseline, identity: this.state.identity, last: reported };
  }
}

function refusal(code: string, text: string): PaymentEnd {
  return { end: "aborted", code, text, reason: "declined", ticket: "" };
}
