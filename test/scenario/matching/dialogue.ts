import type { Message } from "../../../src/zvt/index.ts";
import type { Till } from "./till.ts";
import { fieldsOf, type TerminalRecord, type ZvtLine } from "./zvt-line.ts";

/** What the terminal makes of one payment or reversal, from its acceptance to its end. */
export type Course = (dialogue: Dialogue) => Promise<void>;

/** The terminal's side of one accepted payment or reversal. */
export class Dialogue {
  readonly terminal: Till;
  readonly amountMinor: number;
  /** That a reversal names. */
  readonly receipt: string;
  readonly #line: ZvtLine;

  constructor(terminal: Till, line: ZvtLine, { fields }: Message) {
    this.terminal = terminal;
    this.amountMinor = fields.amount ?? 0;
    this.receipt = fields.receiptNumber ?? "";
    this.#line = line;
  }

  /** Whether the register took the result. */
  async report(record: TerminalRecord): Promise<boolean> {
    const control = await this.#line.deliver("status-information", { fields: fieldsOf(record) });
    const isTaken = control === 0x8000 || control === 0x8400;
    if (!isTaken) this.terminal.refused.push(record);
    return isTaken;
  }

  /** One line of a receipt, which shows that the register's last answer arrived. */
  async print(text: string): Promise<void> {
    await this.#line.deliver("print-line", { parts: { attribute: 0, text } });
  }

  async complete(): Promise<void> {
    await this.#line.deliver("completion");
  }

  async abort(code = 0x6c): Promise<void> {
    await this.#line.deliver("abort-from-pt", { parts: { resultCode: code } });
  }

  /** Resolves when the register has asked for an abort, which was granted. */
  get cancelled(): Promise<void> {
    return this.#line.aborted;
  }

  /** The customer takes his time, until the line is gone. */
  async waits(): Promise<void> {
    await this.#line.next();
    throw new Error("the register spoke to a terminal that is master");
  }

  hangUp(): void {
    this.#line.hangUp();
  }
}

/** An honest sale. */
export const approves: Course = async (at) => {
  const record = at.terminal.next(at.amountMinor);
  if (!(await at.report(record))) return await at.abort();
  at.terminal.book(record);
  await at.complete();
};

/** An honest reversal. */
export const reverses: Course = async (at) => {
  const { terminal } = at;
  const booked = terminal.reversalOf(at.receipt);
  if (!(await at.report(booked.record))) return await at.abort();
  terminal.bank.push(booked);
  terminal.stored = booked.record;
  await at.complete();
};

/** The terminal says 06 1E 6C, and stores the sale all the same. */
export const abortsYetStores =
  (change: Partial<TerminalRecord> = {}): Course =>
  async (at) => {
    const record = at.terminal.next(at.amountMinor, change);
    await at.abort();
    at.terminal.book(record);
  };

/** The line is lost before anybody showed a card; then `meanwhile` happens. */
export const losesLine =
  (meanwhile: (terminal: Till) => void = () => {}): Course =>
  (at) => {
    at.hangUp();
    meanwhile(at.terminal);
    return Promise.resolve();
  };

/** The terminal reports this result and a good end, and has charged nobody. */
export const reports =
  (record: TerminalRecord): Course =>
  async (at) => {
    await at.report(record);
    await at.complete();
  };
