import type { CardName } from "../bank/cards.ts";
import type { StateFile } from "./state-file.ts";

/** A transaction in the turnover list of the terminal's memory. */
export interface StoredTransaction {
  readonly receiptNumber: number;
  readonly trace: number;
  readonly kind: TransactionKind;
  readonly amountMinor: number;
  readonly currency: string;
  /** Whether the register named the currency; then reports of the transaction name it too. */
  readonly currencyTold: boolean;
  readonly card: CardName;
  readonly authorisation: string;
  /** The time on the terminal's clock, in milliseconds since 1970. */
  readonly atMs: number;
  readonly ledgerId: number;
  /** The trace number of the transaction that this one reverses or books; null: there is none. */
  readonly originalTrace: number | null;
  readonly state: "stored" | "reversed" | "booked";
  /** Whether an end of day has counted the transaction; after that it cannot be reversed. */
  readonly closed: boolean;
  /** Whether a tip may still be booked on the transaction (tag 1F3B, command 06 0C). */
  readonly tipAllowed?: boolean;
}

export type TransactionKind = "payment" | "reversal" | "refund" | "reservation" | "booking";

const RECEIPT_NUMBER_MAX = 9_999;
const TRACE_MAX = 999_999;

interface Counters {
  readonly nextReceiptNumber: number;
  readonly nextTrace: number;
  /** The receipt number of the transaction that Repeat Receipt reports; 0: there is none. */
  readonly lastReceiptNumber: number;
  readonly demands: readonly string[];
  /** The terminal id that command 06 1B has set; null: the id that the terminal started with. */
  readonly terminalId: string | null;
  /** The password that command 06 95 has set; null: the password that the terminal started with. */
  readonly password: string | null;
}

/** The terminal's memory. It survives a reboot and, with a state file, the end of the process. */
export class Memory {
  readonly #file: StateFile | undefined;
  #counters: Counters;
  #turnover: StoredTransaction[];
  /** The last transaction, which stays when an end of day clears the turnover. */
  #last: StoredTransaction | undefined;
  /** The last transaction before an end of day; it is last again if all later ones are undone. */
  #lastClosed: StoredTransaction | undefined;

  constructor(first: { receiptNumber: number; trace: number }, file?: StateFile) {
    this.#file = file;
    this.#counters = {
      nextReceiptNumber: first.receiptNumber,
      nextTrace: first.trace,
      lastReceiptNumber: 0,
      demands: [],
      terminalId: null,
      password: null,
      ...file?.read<Counters>("counters")[0],
    };
    const kept = file?.read<StoredTransaction>("stored") ?? [];
    this.#turnover = kept.filter(({ closed }) => !closed);
    this.#lastClosed = kept.findLast(({ closed, state }) => closed && state !== "reversed");
    this.#last = kept.findLast(
      ({ receiptNumber, state }) =>
        receiptNumber === this.#counters.lastReceiptNumber && state !== "reversed",
    );
  }

  get turnover(): readonly StoredTransaction[] {
    return this.#turnover;
  }

  get nextReceiptNumber(): number {
    return this.#counters.nextReceiptNumber;
  }

  get last(): StoredTransaction | undefined {
    return this.#last;
  }

  get settings(): Pick<Counters, "terminalId" | "password"> {
    return this.#counters;
  }

  set(change: Partial<Counters>): void {
    this.#counters = { ...this.#counters, ...change };
    this.#file?.keepCounters(this.#counters);
  }

  /** The maintenance that the terminal demands before it accepts cards again. */
  get demands(): readonly string[] {
    return this.#counters.demands;
  }

  find(receiptNumber: number): StoredTransaction | undefined {
    return this.#turnover.findLast((stored) => stored.receiptNumber === receiptNumber);
  }

  /** Runs `work` as one commit of memory and ledger, so that a power cut leaves all or nothing. */
  together<T>(work: () => T): T {
    return this.#file ? this.#file.together(work) : work();
  }

  /** Returns the next trace number; every contact with the bank uses up one trace number. */
  takeTrace(): number {
    const trace = this.#counters.nextTrace;
    this.set({ nextTrace: trace === TRACE_MAX ? 1 : trace + 1 });
    return trace;
  }

  /** Stores a transaction, which uses up the next receipt number. */
  store(transaction: StoredTransaction): void {
    this.#replace(transaction);
    this.#last = transaction;
    const next = transaction.receiptNumber;
    this.set({
      lastReceiptNumber: next,
      nextReceiptNumber: next === RECEIPT_NUMBER_MAX ? 1 : next + 1,
    });
  }

  change(transaction: StoredTransaction): void {
    this.#replace(transaction);
    if (this.#last?.trace === transaction.trace) this.#last = transaction;
  }

  /** Removes the newest transaction and frees its receipt number. */
  forgetLast(): void {
    const last = this.#last;
    if (!last) return;
    this.change({ ...last, state: "reversed" });
    if (last.trace === this.#lastClosed?.trace) this.#lastClosed = undefined;
    const before = this.#turnover.findLast(
      ({ state, trace }) => state !== "reversed" && trace !== last.trace,
    );
    this.#last = before ?? this.#lastClosed;
    this.set({
      nextReceiptNumber: last.receiptNumber,
      lastReceiptNumber: this.#last?.receiptNumber ?? 0,
    });
  }

  /** Ends the day's turnover. The last transaction and open reservations stay. */
  closeTurnover(): void {
    const open = this.#turnover.filter(
      ({ kind, state }) => kind === "reservation" && state === "stored",
    );
    for (const transaction of this.#turnover) {
      if (!open.includes(transaction)) this.change({ ...transaction, closed: true });
    }
    this.#turnover = open;
    this.#lastClosed = this.#last;
    this.#file?.forgetClosed(this.#last?.trace ?? 0);
  }

  /** Empties the memory as a technician does; afterwards Repeat Receipt finds no transaction. */
  clear(): void {
    this.closeTurnover();
    for (const open of this.#turnover) this.change({ ...open, closed: true });
    this.#turnover = [];
    this.#last = undefined;
    this.#lastClosed = undefined;
    this.set({ lastReceiptNumber: 0 });
    this.#file?.forgetClosed(0);
  }

  demand(demand: string, due: boolean): void {
    const others = this.#counters.demands.filter((other) => other !== demand);
    this.set({ demands: due ? [...others, demand] : others });
  }

  #replace(transaction: StoredTransaction): void {
    const index = this.#turnover.findIndex(({ trace }) => trace === transaction.trace);
    if (index >= 0) this.#turnover[index] = transaction;
    // A closed transaction has left the turnover, also if it is reversed later.
    else if (!transaction.closed) this.#turnover.push(transaction);
    this.#file?.keepTransaction(transaction);
  }
}
