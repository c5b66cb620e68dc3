import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type Apdu, container, decodeMessage, type Message, tag } from "../../../src/zvt/index.ts";
import { approves, type Course, Dialogue, reverses } from "./dialogue.ts";
import { Till } from "./till.ts";
import { EURO, fieldsOf, LineGone, TERMINAL_ID, ZvtLine } from "./zvt-line.ts";

type Commands = Partial<
  Record<Message["name"], (line: ZvtLine, message: Message) => Promise<unknown>>
>;

/**
 * A terminal on a real socket that says what its script has it say: to a payment, to a reversal,
 * and to the question about its last receipt. Its bank is apart.
 */
export class LyingTerminal extends Till {
  /** The order of every payment command, and of every reversal. */
  readonly paid: string[] = [];
  readonly reversed: string[] = [];
  /** Errors of a script. */
  readonly faults: unknown[] = [];
  /** Courses of the next payments; without one a payment is approved and kept. */
  readonly courses: Course[] = [];
  /** The course of the next reversals. */
  reversal: Course = reverses;
  /** It waits for the goods. */
  isVending = false;
  #isAway = false;
  #line: ZvtLine | undefined;
  #command: Promise<unknown> = Promise.resolve();
  readonly #server: Server;

  private constructor() {
    super();
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
      line.deliver("completion", {
        fields: { typeByte: this.isVending ? 0x10 : 0, ...registered },
      }),
    "status-enquiry": (line) =>
      line.deliver("status-completion", { parts: { terminalStatus: 0 }, tags: identity }),
    "repeat-receipt": (line) => this.#repeat(line),
    "turnover-totals": (line) => this.#totals(line),
    "end-of-day": async (line) => {
      this.stored = null;
      return await line.deliver("completion");
    },
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
    const record = this.repeat();
    if (typeof record === "number" || record === null) {
      return await line.deliver("abort-from-pt", { parts: { resultCode: record ?? 0x83 } });
    }
    await line.deliver("status-information", { fields: fieldsOf(record) });
    return await line.deliver("completion");
  }

  async #totals(line: ZvtLine): Promise<unknown> {
    await line.deliver("status-information", { fields: { resultCode: 0, totals: noTotals } });
    return await line.deliver("completion");
  }
}

const registered = { terminalId: TERMINAL_ID, currency: EURO };

const identity = [
  tag("terminalId", TERMINAL_ID),
  container("device", [tag("deviceName", "LIAR"), tag("deviceSerial", "00123456")]),
];

const noTotals = { receiptFrom: "0000", receiptTo: "0000", groups: [] };
