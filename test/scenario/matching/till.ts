import type { TerminalRecord } from "./zvt-line.ts";

/** A movement at the bank: the only truth about money. */
interface Booked {
  /** The order whose customer stood at the terminal, or "staff". */
  readonly whose: string;
  readonly kind: "charge" | "money back";
  readonly record: TerminalRecord;
}

/** The answer to Repeat Receipt; a number refuses it with 06 1E and this code. */
type Repeated = TerminalRecord | number | null;

/** Sales of one shop are further apart than the seconds that a test takes. */
const BETWEEN_SALES_MS = 41_000;
/** So that the records of a test lie around the time that it takes. */
const FIRST_SALE_AGO_MS = 2 * 60_000;

/** What a terminal numbers and stores, and its bank, which is apart. */
export class Till {
  readonly bank: Booked[] = [];
  /** Results that the register refused on the wire. */
  readonly refused: TerminalRecord[] = [];
  /** The order whose customer stands here. */
  customer = "staff";
  /** The last transaction that is really stored. */
  stored: TerminalRecord | null = null;
  /** How Repeat Receipt answers: with the truth, until a test says otherwise. */
  repeat: () => Repeated = () => this.stored;
  /** The numbers that were given last. */
  receipt = 411;
  trace = 70_512;
  #sales = 0;
  readonly #startedMs = Date.now();

  /** A sale with the next numbers, at the next moment of the terminal's clock. */
  next(amountMinor: number, change: Partial<TerminalRecord> = {}): TerminalRecord {
    this.#sales += 1;
    this.receipt = (this.receipt % 9_999) + 1;
    this.trace += 1;
    return {
      result: 0,
      amountMinor,
      receipt: String(this.receipt).padStart(4, "0"),
      trace: String(this.trace).padStart(6, "0"),
      originalTrace: null,
      ...this.moment(),
      card: `476173XXXXXX${String(1_207 + 31 * this.#sales).padStart(4, "0")}`,
      ...change,
    };
  }

  /** What is really stored; there is something. */
  get last(): TerminalRecord {
    if (!this.stored) throw new Error("nothing is stored");
    return this.stored;
  }

  /** Date and time of a transaction, so many milliseconds from the last one. */
  moment(laterMs = 0): Pick<TerminalRecord, "date" | "time"> {
    const sinceMs = this.#sales * BETWEEN_SALES_MS - FIRST_SALE_AGO_MS + laterMs;
    const at = new Date(this.#startedMs + sinceMs);
    const digits = (...numbers: readonly number[]): string =>
      numbers.map((number) => String(number).padStart(2, "0")).join("");
    return {
      date: digits(at.getMonth() + 1, at.getDate()),
      time: digits(at.getHours(), at.getMinutes(), at.getSeconds()),
    };
  }

  /** Charges a card; the terminal keeps the sale. */
  book(record: TerminalRecord, whose = this.customer): TerminalRecord {
    this.bank.push({ whose, kind: "charge", record });
    this.stored = record;
    return record;
  }

  /** The reversal of the newest sale with this receipt number, and whose money goes back. */
  reversalOf(receipt: string): Booked {
    const sale = this.bank.findLast(
      ({ kind, record }) => kind === "charge" && record.receipt === receipt,
    );
    if (!sale) throw new Error(`no sale has receipt ${receipt}`);
    const { amountMinor, trace: originalTrace, card } = sale.record;
    const record = this.next(amountMinor ?? 0, { originalTrace, card });
    return { whose: sale.whose, kind: "money back", record };
  }

  /** Staff sell something at the terminal's own keys. */
  sellByStaff(amountMinor: number): TerminalRecord {
    return this.book(this.next(amountMinor), "staff");
  }

  /** Charges of an order, or what went back of them. */
  count(whose: string, of: Booked["kind"] = "charge"): number {
    return this.bank.filter((entry) => entry.whose === whose && entry.kind === of).length;
  }
}
