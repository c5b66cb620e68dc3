import { AppError } from "../../src/shared/catalog/errors.ts";
import { chargedOf, type PaymentStatus } from "../../src/tp-manager/attempts/phase-table.ts";
import { answerOf } from "../../src/tp-manager/orders/answer.ts";
import type { PaymentResult } from "../../src/tp-manager/orders/orders.ts";
import type { Terminal, TransactionReport } from "../../src/tp-manager/terminal/terminal.ts";
import { charge, type Device, keep, newDevice, plain } from "../explore/device.ts";
import { AMOUNT_MINOR, type Entry, type Spelling } from "../explore/entry-reports.ts";
import { Life } from "../simulation/life.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { openHouse, request } from "../support/house/payment-house.ts";
import type { Assumption, Family } from "./assumptions.ts";
import type { Chooser, Option } from "./chooser.ts";
import type { KeptJournal } from "./kept-journal.ts";
import { WRONG_MINOR } from "./scope.ts";
import { OUTSIDER, Recorder, type ResultOfCharge } from "./timeline.ts";

const START_MS = new Date(2026, 0, 15, 13, 0, 0).getTime();
/** A kiosk that is refused asks again. */
const AGAIN_MS = [15_000, 60_000, 180_000];
const FAILED_IN_A_ROW = 3;
const ANSWERS_MAX = 2;
const SET_MS = -45 * 60_000;
const [SOON_MS, PATIENCE_MS, REST_MS] = [2_000, 600_000, 900_000];

type House = ReturnType<typeof openHouse<Terminal, Life["clock"]>>;

/** `declared`: the assumptions that the product knows to be off for this terminal. */
function makeHouse(
  kept: KeptJournal,
  terminal: Terminal,
  { clock }: Life,
  declared: readonly Assumption[],
): House {
  const off = declared.filter((each) => each !== "sole-user");
  const isShared = off.length < declared.length;
  return openHouse(kept.path, terminal, { clock, isShared, off, journal: kept.for(clock) });
}

/** The driver of one life, for the device of a world. */
type TerminalOf = (world: World, life: Life, family: Family) => Terminal;

/** What a terminal knows of a command; `charge`: the card was charged this in it. */
export type AnswerById =
  | { readonly says: "runs" }
  | {
      readonly says: "approval" | "failure";
      readonly report: TransactionReport;
      readonly charge?: number;
    };

interface Answer {
  /** Of the payment, or the code of a refusal. */
  readonly status: string;
  readonly isRefused: boolean;
}

/** One possible course of events, played with the real money side on a journal of its own. */
export class World {
  readonly clock = new TestClock(START_MS);
  readonly recorder = new Recorder(() => this.clock.monotonicMs());
  readonly chooser: Chooser;
  readonly device: Device;
  readonly storesReversals: boolean;
  /** A sale that was reversed is not its last transaction any more. */
  readonly forgetsReversed: boolean;
  /** Of a one-way terminal: the reference comes back. */
  readonly echoes: string;
  /** Results of a one-way terminal that nobody has heard yet, and the last one that was heard. */
  readonly unreported: ResultOfCharge[] = [];
  lastReported: ResultOfCharge | undefined;
  /** Attempts by the reference that they were sent with. */
  readonly named = new Map<string, string>();
  /** What a terminal that is asked by id answers about each of our commands. */
  readonly answers = new Map<string, AnswerById>();
  /** Of the terminal's own clock. */
  clockAheadMs = 0;
  /** Nobody answers. */
  isAway = false;
  /** Of orders that cost something else than all others. */
  readonly amounts = new Map([["C", 700]]);
  /** The order that the kiosk waits for, or for whose money. */
  order = "";
  attempt = 0;
  readonly #journal: KeptJournal;
  readonly #declared: readonly Assumption[];
  readonly #asked = new Set<string>();
  readonly #askedById = new Map<string, number>();
  readonly #family: Family;
  readonly #terminalOf: TerminalOf;
  #life: Life;
  #house: House;

  constructor(
    journal: KeptJournal,
    chooser: Chooser,
    {
      family,
      terminalOf,
      declared,
    }: {
      readonly family: Family;
      readonly terminalOf: TerminalOf;
      readonly declared: readonly Assumption[];
    },
  ) {
    this.chooser = chooser;
    this.#journal = journal;
    this.#declared = declared;
    this.#family = family;
    this.#terminalOf = terminalOf;
    const asked = <O extends Option>(point: string, options: readonly O[]): string =>
      family === "zvt" ? chooser.choose(point, options) : "";
    const spelling = (asked("the terminal reports", spellings) || "full") as Spelling;
    const isFirst = asked("numbers go on after 9999 with", ["1", "0"]);
    const stores = asked("it stores", storing);
    this.storesReversals = stores === "reversals too";
    this.forgetsReversed = stores === "sales that stand";
    const isNamed = family === "zvt" || family === "by-id";
    this.echoes = isNamed ? "" : chooser.choose("the reference comes back", echoing, true);
    this.device = newDevice({ ...plain, spelling });
    this.device.nextReceipt = Number(isFirst);
    this.bank();
    [this.#life, this.#house] = this.#born();
  }

  get life(): Life {
    return this.#life;
  }

  /** What the kiosk does in a day, and what else happens. */
  async play(day: string): Promise<void> {
    let last = "";
    for (const step of day.split(" ")) {
      if (last !== "") await this.meanwhile();
      if (step === "R") await this.reverse(last);
      else await this.ask(step);
      if (step !== "R") last = step;
    }
    await this.rest();
  }

  /** Nothing is left to be asked or reported; returns the last answer about each order. */
  async rest(): Promise<Map<string, PaymentStatus>> {
    await this.#restart();
    await this.clock.advance(REST_MS);
    const { attempts } = this.#house.journal;
    const last = new Map<string, PaymentStatus>();
    for (const order of this.#asked) {
      this.#lookUp(order, true);
      const latest = attempts.decisive(order);
      if (latest) last.set(order, answerOf(latest, null).body.status);
    }
    this.#life.die();
    return last;
  }

  /** What an order asks for. */
  amountOf(order: string): number {
    return this.amounts.get(order) ?? AMOUNT_MINOR;
  }

  /** The terminal's own clock, and a charge by it. */
  charge(order: string, change: Partial<Entry> = {}, broke: Assumption | null = null): number {
    const nowMs = this.clock.monotonicMs() + this.clockAheadMs;
    this.device.second = Math.floor(nowMs / 1_000) + 1;
    const attempt = order === OUTSIDER ? 0 : this.attempt;
    const made = { attempt, amountMinor: this.amountOf(order), ...change };
    const index = charge(this.device, order, made);
    this.bank();
    const known = this.recorder.charges[index];
    if (known) known.broke = broke;
    return index;
  }

  keep(index: number): void {
    keep(this.device, index, { hides: false });
    this.device.stale = false;
    this.bank();
  }

  bank(): void {
    const isAsked = ({ order, amountMinor }: Entry): boolean =>
      amountMinor === this.amountOf(order);
    this.recorder.bank(this.device.entries, isAsked);
  }

  /** A sale at the terminal's own keys. */
  staffSells(amountMinor: number): number {
    const sold = this.charge(OUTSIDER, { amountMinor });
    this.keep(sold);
    return sold;
  }

  /** Unless the terminal is with a customer of ours. */
  #staffMaySell(amountMinor: number): void {
    if (this.device.process.at !== "paying") this.staffSells(amountMinor);
  }

  /** A command of the order that the kiosk waits for leaves. */
  leaves(what: "payment" | "reversal", names: number | null = null): void {
    const { attempts } = this.#house.journal;
    this.attempt = attempts.ofOrder(this.order).at(-1)?.number ?? 0;
    const { order, attempt, recorder } = this;
    const { key } = recorder;
    recorder.leaves.push({ seq: recorder.next(), what, order, attempt, key, names });
    recorder.known(`-> ${what} of ${order}, attempt ${attempt}`);
  }

  /** Only the first answers to questions about a command differ: there are many. */
  mayChooseAbout(reference: string): boolean {
    const before = this.#askedById.get(reference) ?? 0;
    this.#askedById.set(reference, before + 1);
    return before < ANSWERS_MAX;
  }

  /** The kiosk cancels the payment that runs. */
  cancels(): void {
    this.recorder.known("the kiosk cancels");
    this.#house.arbiter.running.cancel().catch(() => {});
  }

  /** tp-manager is killed. */
  kill(): void {
    this.recorder.known("tp-manager is killed");
    this.#life.die();
    this.#journal.kill();
  }

  /** What staff may do at a moment when the connector does not watch. */
  staff(point: string): void {
    const sold = this.chooser.choose(point, [
      "nothing",
      ["staff sells the same amount", "sole-user"],
    ]);
    if (sold !== "nothing") this.#staffMaySell(AMOUNT_MINOR);
  }

  #born(): [Life, House] {
    const { recorder } = this;
    const life = new Life(this.clock, (error) => recorder.fallen.push(String(error)));
    const terminal = this.#terminalOf(this, life, this.#family);
    const house = makeHouse(this.#journal, terminal, life, this.#declared);
    house.hub.subscribe((event) => {
      if (event.name !== "alarm") return;
      const { alarm, message, orderId, transactionId } = event.data;
      const ofIts = transactionId && house.journal.attempts.orderOf(transactionId);
      const text = `${message} ${orderId ?? ""} ${ofIts ?? ""}`;
      const names = [...this.#asked].filter((order) => text.match(`\\b${order}\\b`));
      recorder.known(`-> alarm ${alarm}: ${text.slice(0, 150)}`);
      recorder.alarms.push({ seq: recorder.next(), alarm, names });
    });
    house.start();
    terminal.start();
    return [life, house];
  }

  /** undefined: it lives. */
  async #restart(): Promise<void> {
    if (this.#life.alive) return;
    await this.clock.advance(SOON_MS);
    [this.#life, this.#house] = this.#born();
    this.recorder.known("tp-manager starts");
    await this.clock.advance(SOON_MS);
  }

  /** What else happens between two customers. */
  async meanwhile(): Promise<void> {
    const { chooser } = this;
    await this.#restart();
    await this.clock.advance(SOON_MS);
    switch (chooser.choose("before the next step", meanwhile)) {
      case "staff sells the same amount":
        this.#staffMaySell(AMOUNT_MINOR);
        break;
      case "staff sells another amount":
        this.#staffMaySell(WRONG_MINOR);
        break;
      case "requests fail":
        await this.#failInARow();
        break;
      case "the end of day, and numbers begin again":
        await this.#closeDay(true);
        break;
      case "the end of day, and numbers go on":
        await this.#closeDay(false);
        break;
      case "tp-manager starts anew":
        this.kill();
        await this.#restart();
        break;
      case "the terminal's clock is set":
        this.clockAheadMs += SET_MS;
        break;
      case "a receipt number is left out":
        this.device.nextReceipt += 1;
        break;
      case "the newest receipt number is given again":
        this.device.nextReceipt = Math.max(1, this.device.nextReceipt - 1);
        break;
      case "a quarter of an hour":
        await this.clock.advance(REST_MS);
        break;
      default:
    }
    await this.clock.advance(SOON_MS);
  }

  async #failInARow(): Promise<void> {
    this.isAway = true;
    this.recorder.known("the terminal is away");
    for (let i = 1; i <= FAILED_IN_A_ROW; i++) await this.#try(`F${i}`);
    this.isAway = false;
    this.recorder.known("the terminal is back");
  }

  async #closeDay(restarts: boolean): Promise<void> {
    const { device, recorder } = this;
    recorder.known("the operator runs an end of day");
    this.#resets = restarts;
    const closed = this.#house.arbiter.upkeep.telecollect().then(
      ({ end }) => recorder.known(`end of day: ${end}`),
      (error: unknown) => recorder.known(`no end of day: ${String(error)}`),
    );
    let isOver = false;
    void closed.then(() => {
      isOver = true;
    });
    await this.clock.advance(PATIENCE_MS, () => isOver);
    device.stale = false;
  }

  #resets = false;

  /** The terminal's own end of day. */
  closes(): void {
    this.device.stored = null;
    this.device.before = null;
    if (this.#resets) this.device.nextReceipt = 1;
  }

  /** The last answer of some. */
  async ask(order: string): Promise<Answer> {
    this.#asked.add(order);
    let answer = await this.#try(order);
    for (const againMs of AGAIN_MS) {
      if (!answer.isRefused) break;
      await this.clock.advance(againMs);
      answer = await this.#try(order);
    }
    return answer;
  }

  async #try(order: string): Promise<Answer> {
    this.recorder.known(`the kiosk asks for ${order}`);
    const amountMinor = this.amountOf(order);
    return await this.#answered(order, this.#house.orders.pay(request(order, { amountMinor })));
  }

  async reverse(order: string): Promise<Answer> {
    this.recorder.known(`the kiosk wants ${order} reversed`);
    return await this.#answered(order, this.#house.afterSale.reverse(order));
  }

  async #answered(order: string, asked: Promise<PaymentResult>): Promise<Answer> {
    const { recorder } = this;
    this.order = order;
    this.attempt = 0;
    const life = this.#life;
    let answer: Answer | undefined;
    void asked.then(
      ({ attempt, delivery }) => {
        if (!life.alive) return;
        const { why = "" } = attempt.state as { why?: string };
        this.#says(order, chargedOf(attempt), why, false);
        recorder.known(`<- ${order}: ${attempt.state.phase} ${why}`);
        const { status } = answerOf(attempt, delivery).body;
        answer = { status, isRefused: status === "Failed" };
      },
      (error: unknown) => {
        if (!life.alive) return;
        if (!(error instanceof AppError)) {
          recorder.fallen.push(String(error));
          return;
        }
        // The word of every error on the wire is that about its order.
        const charged = this.#house.orders.chargedOfOrder(order) ?? error.charged;
        this.#says(order, charged, error.code, false);
        recorder.known(`<- ${order}: ${error.code}, charged: ${charged}`);
        answer = { status: error.code, isRefused: true };
      },
    );
    await this.clock.advance(PATIENCE_MS, () => answer !== undefined || !life.alive);
    if (life.alive) this.#lookUp(order, false);
    await this.#restart();
    return answer ?? { status: "killed", isRefused: false };
  }

  #lookUp(order: string, atRest: boolean): void {
    const { attempts } = this.#house.journal;
    const reasonOf = (id: string): string =>
      attempts
        .events(id)
        .map(({ detail }) => (detail as { because?: string }).because)
        .findLast((because) => because !== undefined) ?? "";
    const latest = attempts.decisive(order);
    const charged = this.#house.orders.chargedOfOrder(order) ?? "no";
    const because = latest ? reasonOf(latest.transactionId) : "";
    this.#says(order, charged, because, atRest);
  }

  #says(order: string, says: "yes" | "no" | "unknown", because: string, atRest: boolean): void {
    const { recorder } = this;
    const { key } = recorder;
    const reason = because.replaceAll(/\border \S+/g, "order X");
    const verdict = { seq: recorder.next(), order, says, because: reason, key, atRest };
    recorder.verdicts.push(verdict);
  }
}

const spellings = ["full", "no moment", "no receipt", "time alone", "blank"];
const echoing = ["always", "never", "with approvals alone"];
const storing = [
  "sales alone",
  ["sales that stand", "reversals"] as const,
  ["reversals too", "reversals"] as const,
];

const meanwhile = [
  "nothing",
  ["staff sells the same amount", "sole-user"],
  ["staff sells another amount", "sole-user"],
  ["requests fail", "failed attempts"],
  ["the end of day, and numbers begin again", "number resets"],
  ["the end of day, and numbers go on", "number resets"],
  ["tp-manager starts anew", "restarts"],
  ["the terminal's clock is set", "own-time"],
  ["a receipt number is left out", "counting-receipts"],
  ["the newest receipt number is given again", "counting-receipts"],
  "a quarter of an hour",
] as const;
