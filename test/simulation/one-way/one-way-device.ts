import { sleep } from "../../../src/shared/time.ts";
import type { TestClock } from "../../support/clocks/test-clock.ts";
import type { Bank } from "../bank.ts";
import { ModelDevice } from "../model-device.ts";
import type { Behaviour } from "../plan.ts";
import { type Answer, type Asked, readRequest, writeReply } from "./model-messages.ts";
import type { Connection, OneWayBehaviour, OneWayKind, RegisterEnd } from "./one-way-kinds.ts";

const REBOOT_MS = 20_000;
const TRIES = 3;
const PAUSE_MS = 4_000;
const EURO = "978";
const DOLLAR = "840";
const usual: OneWayBehaviour = { fault: "none", charges: true, ms: 0 };

type RequestAnswer = "taken" | "refused" | "unanswered";
type HeldBack = "result within the next payment" | "result in place of an ACK";

interface Request extends Asked {
  readonly order: string;
  readonly connection: Connection;
}

interface Result {
  readonly answer: Answer;
  readonly order: string;
  readonly connection: Connection | "newest" | undefined;
}

export interface OneWayParts {
  readonly kind: OneWayKind;
  readonly clock: TestClock;
  readonly bank: Bank;
  readonly next: () => Behaviour;
  /** A fault has struck. */
  readonly struck: (fault: string) => void;
}

/**
 * A card terminal that takes one request, reports one result and knows no question about it
 * (docs/concert.md 2.7, 2.8, 4.9), with its bank. Results go to whichever process listens.
 */
export class OneWayDevice extends ModelDevice {
  readonly kind: OneWayKind;
  readonly #parts: OneWayParts;
  /** References of the attempts whose clear result got its ACK as it was meant. */
  readonly #reported = new Set<string>();
  /** Orders about which another result was reported, too. */
  readonly #confused = new Set<string>();
  readonly #requests: Request[] = [];
  /** Of the newest request. */
  #newest = { order: "", reference: "" };
  #line: RegisterEnd | undefined;
  #isRunning = false;
  /** Counts the times that power came back. */
  #power = 0;
  #held: { readonly result: Result; readonly until: HeldBack } | undefined;
  #unmatched = 0;

  constructor(parts: OneWayParts) {
    super(parts.clock, parts.bank, "", parts.next);
    this.#parts = parts;
    this.kind = parts.kind;
  }

  override get busy(): boolean {
    return this.#isRunning;
  }

  /** The result of the order's attempt got its ACK, so the order is known. */
  hasReported(order: string, reference: string): boolean {
    return this.#reported.has(reference) && !this.#confused.has(order);
  }

  attach(line: RegisterEnd): void {
    if (this.busy) this.#strike("restart before the result");
    this.#line = line;
  }

  override breakLine(ms: number): void {
    super.breakLine(ms);
    this.#line?.broken(ms);
  }

  /** What was charged stands and is never reported. */
  override reboot(): void {
    this.#power += 1;
    this.#held = undefined;
    if (this.busy) this.#strike("power lost in a payment");
    this.breakLine(REBOOT_MS);
  }

  override use(): void {}

  /** A card that nobody asked for. */
  approveByItself(): void {
    if (this.busy) return;
    this.#strike("approval by itself");
    // A register that still waits takes what names no order for its own.
    if (!this.#reported.has(this.#newest.reference)) this.#confused.add(this.#newest.order);
    const order = `unmatched-${++this.#unmatched}`;
    const asked = { amountMinor: 4_321, currency: EURO, reference: "" };
    this.#enter(order, asked.amountMinor);
    void this.#report({ answer: { ...asked, says: "approved" }, order, connection: undefined });
  }

  /** The line is open for a request: a delayed result that waited for this comes first. */
  speaksFirst(): void {
    const fault = "result in place of an ACK";
    if (this.busy || this.#held?.until !== fault) return;
    const { result } = this.#held;
    this.#held = undefined;
    this.#strike(fault);
    void this.#report({ ...result, connection: "newest" });
  }

  /** What the terminal makes of a request, as the register sees it. */
  hears(bytes: Uint8Array, order: string, connection: Connection): RequestAnswer {
    const { oneWay = usual, customerMs } = this.#parts.next();
    const { fault, ms } = oneWay;
    const unheard = this.kind.isBare ? "taken" : "unanswered";
    if (this.busy) return unheard;
    if (fault === "request refused" || fault === "request lost") {
      this.#strike(fault);
      return fault === "request refused" && !this.kind.isBare ? "refused" : unheard;
    }
    const request = { ...readRequest(this.kind, bytes), order, connection };
    this.#newest = request;
    void this.#work(request, oneWay, customerMs);
    if (fault === "line lost after the request") this.#loseLine(fault, ms);
    if (fault !== "request without ACK" || this.kind.isBare) return "taken";
    this.#strike(fault);
    return "unanswered";
  }

  async #work(request: Request, does: OneWayBehaviour, customerMs: number): Promise<void> {
    const power = this.#power;
    this.#isRunning = true;
    await this.#pause(customerMs);
    if (power === this.#power) {
      await this.#release();
      await this.#end(request, does);
    }
    this.#requests.push(request);
    this.#isRunning = false;
  }

  async #end({ order, connection, ...asked }: Request, does: OneWayBehaviour): Promise<void> {
    const { fault, charges, ms } = does;
    const amountMinor = asked.amountMinor + (fault === "another amount" ? 1 : 0);
    if (charges) this.#enter(order, amountMinor);
    const says = charges ? "approved" : "declined";
    const result: Result = { order, connection, answer: { ...asked, amountMinor, says } };
    if (fault === "line lost before the result") this.#loseLine(fault, ms);
    else if (fault === "reference of another order") return await this.#misname(result);
    else if (isHeldBack(fault)) {
      this.#held = { result, until: fault };
      return;
    } else if (isStruckAtEnd(fault)) this.#strike(fault);
    await this.#reportAs(fault, result, ms);
  }

  async #reportAs(fault: OneWayBehaviour["fault"], result: Result, ms: number): Promise<void> {
    const { answer } = result;
    const saying = (change: Partial<Answer>): Promise<boolean> =>
      this.#report({ ...result, answer: { ...answer, ...change } }, false);
    switch (fault) {
      case "result never sent":
        return;
      case "status 9 alone":
        await saying({ says: "later" });
        return;
      case "status 9 first":
        await saying({ says: "later" });
        await this.#pause(ms);
        break;
      case "another amount":
        await saying({});
        return;
      case "another currency":
        await saying({ currency: DOLLAR });
        return;
      case "result not clear":
        await saying({ says: "nothing clear" });
        return;
      case "result damaged":
        this.#line?.damage();
        await this.#pause(500);
        break;
      case "result sent again":
        await this.#report(result);
        await this.#pause(1_000);
        break;
    }
    await this.#report(result);
  }

  /** Reports the current result under the name of an earlier order of another amount. */
  async #misname({ answer, order, connection }: Result): Promise<void> {
    const other = this.#requests.find(
      (each) => each.order !== order && each.amountMinor !== answer.amountMinor,
    );
    if (!other) return void (await this.#report({ answer, order, connection }));
    this.#strike("reference of another order");
    this.#confused.add(other.order);
    const { reference } = other;
    await this.#report({ order, connection, answer: { ...answer, reference } }, false);
  }

  /** Reports a result that was delayed until the next payment. */
  async #release(): Promise<void> {
    const fault = "result within the next payment";
    if (this.#held?.until !== fault) return;
    const { result } = this.#held;
    this.#held = undefined;
    if (this.#deliver({ ...result, connection: "newest" })) this.#strike(fault);
    await this.#pause(500);
  }

  /** Three times at most; `isClear`: the order is known by it. */
  async #report(result: Result, isClear = true): Promise<boolean> {
    const power = this.#power;
    for (let tries = 0; tries < TRIES; tries++) {
      if (tries > 0) await this.#pause(PAUSE_MS);
      if (power !== this.#power) return false;
      if (this.#deliver(result, isClear)) return true;
    }
    return false;
  }

  #deliver({ answer, order, connection }: Result, isClear = true): boolean {
    // What comes before a request gets its ACK is never the new order's, unless it names it.
    const isPlaced = this.kind.echoes || this.#line?.isSpeaking === false;
    const isTaken = this.#line?.deliver(writeReply(this.kind, answer), connection) === true;
    if (isTaken && isClear && isPlaced) this.#reported.add(answer.reference);
    else if (isTaken && answer.says !== "later") this.#confused.add(order);
    return isTaken;
  }

  #loseLine(fault: string, ms: number): void {
    this.#strike(fault);
    this.breakLine(ms);
  }

  #enter(order: string, amountMinor: number): void {
    const { bank, clock } = this.#parts;
    const atMs = clock.monotonicMs();
    const sale = bank.begin(atMs);
    bank.enter({ kind: "charge", sale, order, amountMinor, atMs, asked: false });
  }

  #strike(fault: string): void {
    this.#parts.struck(`cannot be asked: ${fault}`);
  }

  #pause(ms: number): Promise<void> {
    return sleep(this.#parts.clock, "one-way terminal", ms);
  }
}

const isHeldBack = (fault: OneWayBehaviour["fault"]): fault is HeldBack =>
  fault === "result within the next payment" || fault === "result in place of an ACK";

/** The others strike elsewhere, or not at all. */
const isStruckAtEnd = (fault: OneWayBehaviour["fault"]): boolean =>
  !["none", "request without ACK", "line lost after the request"].includes(fault);
