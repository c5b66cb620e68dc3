import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type Apdu, container, decodeMessage, type Message, tag } from "../../../src/zvt/index.ts";
import { EURO, fieldsOf, LineGone, TERMINAL_ID, type Told, ZvtLine } from "./zvt-line.ts";

/** A movement at the bank: the only truth about money. */
interface Booked {
  /** The order whose customer stood at the terminal, or "staff". */
  readonly whose: string;
  readonly kind: "charge" | "money back";
  readonly told: Told;
}

/** What the terminal makes of one payment or reversal, from its acceptance to its end. */
export type Course = (dialogue: Dialogue) => Promise<void>;

type Commands = Partial<
  Record<Message["name"], (line: ZvtLine, message: Message) => Promise<unknown>>
>;

/** The answer to Repeat Receipt; a number refuses it with 06 1E and this code. */
type Repeated = Told | number | null;

/** Sales of one shop are further apart than the seconds that a test takes. */
const BETWEEN_SALES_MS = 41_000;
/** So that the records of a test lie around the time that it takes. */
const FIRST_SALE_AGO_MS = 2 * 60_000;

/**
 * A terminal on a real socket that says what its script has it say: to a payment, to a reversal,
 * and to the question about its last receipt. Its bank is apart.
 */
export class LyingTerminal {
  readonly bank: Booked[] = [];
  /** The order of every payment command, and of every reversal. */
  readonly paid: string[] = [];
  readonly reversed: string[] = [];
  /** Results that the register refused on the wire. */
  readonly refused: Told[] = [];
  /** Errors of a script. */
  readonly faults: unknown[] = [];
  /** The order whose customer stands here. */
  customer = "staff";
  /** The last transaction that is really stored. */
  stored: Told | null = null;
  /** How Repeat Receipt answers: with the truth, until a test says otherwise. */
  repeat: () => Repeated = () => this.stored;
  /** Courses of the next payments; without one a payment is approved and kept. */
  readonly courses: Course[] = [];
  /** The course of the next reversals. */
  reversal: Course = reverses;
  /** It waits for the goods. */
  isVending = false;
  /** The numbers that were given last. */
  receipt = 411;
  trace = 70_512;
  #sales = 0;
  #isAway = false;
  #line: ZvtLine | undefined;
  #command: Promise<unknown> = Promise.resolve();
  readonly #startedMs = Date.now();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((socket) => this.#connected(socket));
  }

  static async start(): Promise<LyingTerminal> {
    const terminal = new LyingTerminal();
    await new Promise<void>((resolve) => terminal.#server.listen(0, "127.0.0.1", resolve));
    return terminal;
  }

  get address(): string {
    return `tcp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A sale with the next numbers, at the next moment of the terminal's clock. */
  next(amountMinor: number, change: Partial<Told> = {}): Told {
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
  get last(): Told {
    if (!this.stored) throw new Error("nothing is stored");
    return this.stored;
  }

  /** Date and time of a transaction, so many milliseconds from the last one. */
  moment(laterMs = 0): Pick<Told, "date" | "time"> {
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
  book(told: Told, whose = this.customer): Told {
    this.bank.push({ whose, kind: "charge", told });
    this.stored = told;
    return told;
  }

  /** The reversal of the newest sale with this receipt number, and whose money goes back. */
  reversalOf(receipt: string): Booked {
    const sale = this.bank.findLast(
      ({ kind, told }) => kind === "charge" && told.receipt === receipt,
    );
    if (!sale) throw new Error(`no sale has receipt ${receipt}`);
    const { amountMinor, trace: originalTrace, card } = sale.told;
    const told = this.next(amountMinor ?? 0, { originalTrace, card });
    return { whose: sale.whose, kind: "money back", told };
  }

  /** Staff sell something at the terminal's own keys. */
  sellByStaff(amountMinor: number): Told {
    return this.book(this.next(amountMinor), "staff");
  }

  /** Charges of an order, or what went back of them. */
  count(whose: string, of: Booked["kind"] = "charge"): number {
    return this.bank.filter((entry) => entry.whose === whose && entry.kind === of).length;
  }

  /** Resolves when no command runs. */
  async idle(): Promise<void> {
    for (let known = this.#command; ; known = this.#command) {
      await known;
      if (known === this.#command) return;
    }
  }

  /** Nobody gets through to it any more. */
  goAway(): void {
    this.#isAway = true;
    this.#line?.hangUp();
  }

  comeBack(): void {
    this.#isAway = false;
  }

  async stop(): Promise<void> {
    this.goAway();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connected(socket: Socket): void {
    this.#line?.hangUp();
    const line = new ZvtLine(socket);
    this.#line = line;
    if (this.#isAway) line.hangUp();
    void this.#serve(line).catch((error: unknown) => {
      if (!(error instanceof LineGone)) this.faults.push(error);
    });
  }

  async #serve(line: ZvtLine): Promise<void> {
    for (;;) {
      const apdu = await line.next();
      const obeyed = this.#obey(line, apdu);
      this.#command = obeyed.catch(() => {});
      await obeyed;
    }
  }

  async #obey(line: ZvtLine, apdu: Apdu): Promise<unknown> {
    const message = decodeMessage(apdu);
    const work = this.#commands[message.name];
    if (!work) return line.send("negative-acknowledgement", { errorCode: 0x83 });
    line.send("positive-acknowledgement");
    return await work(line, message);
  }

  readonly #commands: Commands = {
    registration: (line) =>
      line.tell("completion", { fields: { typeByte: this.isVending ? 0x10 : 0, ...registered } }),
    "status-enquiry": (line) =>
      line.tell("status-completion", { parts: { terminalStatus: 0 }, tags: identity }),
    "repeat-receipt": (line) => this.#repeat(line),
    "turnover-totals": (line) => this.#totals(line),
    authorisation: (line, message) => {
      this.paid.push(this.customer);
      return (this.courses.shift() ?? approves)(new Dialogue(this, line, message));
    },
    reversal: (line, message) => {
      this.reversed.push(this.customer);
      return this.reversal(new Dialogue(this, line, message));
    },
  };

  async #repeat(line: ZvtLine): Promise<unknown> {
    const told = this.repeat();
    if (typeof told === "number" || told === null) {
      return await line.tell("abort-from-pt", { parts: { resultCode: told ?? 0x83 } });
    }
    await line.tell("status-information", { fields: fieldsOf(told) });
    return await line.tell("completion");
  }

  async #totals(line: ZvtLine): Promise<unknown> {
    await line.tell("status-information", { fields: { resultCode: 0, totals: noTotals } });
    return await line.tell("completion");
  }
}

const registered = { terminalId: TERMINAL_ID, currency: EURO };

const identity = [
  tag("terminalId", TERMINAL_ID),
  container("device", [tag("deviceName", "LIAR"), tag("deviceSerial", "00123456")]),
];

const noTotals = { receiptFrom: "0000", receiptTo: "0000", groups: [] };

/** The terminal's side of one accepted payment or reversal. */
class Dialogue {
  readonly terminal: LyingTerminal;
  readonly amountMinor: number;
  /** That a reversal names. */
  readonly receipt: string;
  readonly #line: ZvtLine;

  constructor(terminal: LyingTerminal, line: ZvtLine, { fields }: Message) {
    this.terminal = terminal;
    this.amountMinor = fields.amount ?? 0;
    this.receipt = fields.receiptNumber ?? "";
    this.#line = line;
  }

  /** Whether the register took the result. */
  async report(told: Told): Promise<boolean> {
    const control = await this.#line.tell("status-information", { fields: fieldsOf(told) });
    const isTaken = control === 0x8000 || control === 0x8400;
    if (!isTaken) this.terminal.refused.push(told);
    return isTaken;
  }

  /** One line of a receipt, which shows that the register's last answer arrived. */
  async print(text: string): Promise<void> {
    await this.#line.tell("print-line", { parts: { attribute: 0, text } });
  }

  async complete(): Promise<void> {
    await this.#line.tell("completion");
  }

  async abort(code = 0x6c): Promise<void> {
    await this.#line.tell("abort-from-pt", { parts: { resultCode: code } });
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
const approves: Course = async (at) => {
  const told = at.terminal.next(at.amountMinor);
  if (!(await at.report(told))) return await at.abort();
  at.terminal.book(told);
  await at.complete();
};

/** An honest reversal. */
const reverses: Course = async (at) => {
  const { terminal } = at;
  const booked = terminal.reversalOf(at.receipt);
  if (!(await at.report(booked.told))) return await at.abort();
  terminal.bank.push(booked);
  terminal.stored = booked.told;
  await at.complete();
};

/** The terminal says 06 1E 6C, and stores the sale all the same. */
export const abortsYetStores =
  (change: Partial<Told> = {}): Course =>
  async (at) => {
    const told = at.terminal.next(at.amountMinor, change);
    await at.abort();
    at.terminal.book(told);
  };

/** The line is lost before anybody showed a card; then `meanwhile` happens. */
export const losesLine =
  (meanwhile: (terminal: LyingTerminal) => void = () => {}): Course =>
  (at) => {
    at.hangUp();
    meanwhile(at.terminal);
    return Promise.resolve();
  };

/** The terminal tells this result and a good end, and has charged nobody. */
export const tells =
  (told: Told): Course =>
  async (at) => {
    await at.report(told);
    await at.complete();
  };
