import { sleep } from "../../src/shared/time.ts";
import {
  type Baseline,
  type CancelAnswer,
  type GoodsDecision,
  type LastTransaction,
  type PaymentEnd,
  type PaymentObserver,
  type PaymentOrder,
  type ReversalOrder,
  type TelecollectionEnd,
  type Terminal,
  type TerminalEvent,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
} from "../../src/tp-manager/terminal/terminal.ts";
import type { Life } from "./life.ts";
import type { ModelDevice, Register } from "./model-device.ts";

const ANSWER_MS = 100;
const T3_MS = 5_000;
const T4_MS = 180_000;

/** What the driver reports to the world that watches it. */
export interface DriverWatch {
  readonly device: () => ModelDevice;
  /** The order that the register works on now. */
  readonly order: () => string;
  /** How long another command still has the wire. */
  readonly wireMs: () => number;
  /** A financial command leaves. */
  readonly leaves: (what: "payment" | "reversal", order: string) => void;
  /** An end of day is about to empty the device. */
  readonly closes: () => void;
  /** A report is about to get its ACK. */
  readonly sendsAck: (order: string) => void;
}

/** The driver of one process's life for whatever device is plugged in. */
export class ModelTerminal implements Terminal {
  readonly capabilities = {
    paymentLimitMs: T4_MS,
    lastTransaction: true,
    vending: true,
    partialIssue: true,
  };
  readonly #life: Life;
  readonly #watch: DriverWatch;
  readonly #listeners = new Set<(event: TerminalEvent) => void>();
  #paying: ModelDevice | undefined;
  /** Ends the wait for the wire, and the command with it. */
  #withdraw: (() => void) | undefined;

  constructor(life: Life, watch: DriverWatch) {
    this.#life = life;
    this.#watch = watch;
  }

  get state(): TerminalState {
    const device = this.#watch.device();
    return {
      link: device.reachable ? "connected" : "disconnected",
      linkProblem: device.reachable ? null : "no line",
      identity: device.identity,
      status: null,
      busy: device.busy,
      demands: device.demanding ? ["end-of-day"] : [],
    };
  }

  /** The device does nothing by itself that could overwrite its evidence. */
  keepEvidence(): void {}

  start(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }

  subscribe(listener: (event: TerminalEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event: TerminalEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  async prepare(signal: AbortSignal): Promise<Baseline> {
    const last = await this.#ask(signal);
    const device = this.#watch.device();
    const clockOffsetMs = device.nowMs - this.#life.clock.now();
    return { identity: device.identity, last, clockOffsetMs };
  }

  lastTransaction(signal: AbortSignal): Promise<LastTransaction> {
    return this.#ask(signal);
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    await this.#ask(signal);
    return { cr: "0", card: "0", call: "0", periph: "0", detail: "ready" };
  }

  pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    return this.#financial("payment", observer, (device, register) => device.pay(order, register));
  }

  reverse(order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    return this.#financial("reversal", observer, (device, register) =>
      device.reverse(order, register),
    );
  }

  async cancel(): Promise<CancelAnswer> {
    if (this.#withdraw) {
      this.#withdraw();
      return { answer: "taken" };
    }
    await this.#sleep(ANSWER_MS);
    const device = this.#paying;
    if (!device) return { answer: "nothing-running" };
    const answer = device.reachable ? device.cancel() : "ignored";
    switch (answer) {
      case "taken":
        return { answer: "taken" };
      case "refused":
        return { answer: "refused", code: "83", text: "not possible" };
      case "ignored":
        return { answer: "no-answer", text: "nothing" };
    }
  }

  decideGoods(decision: GoodsDecision): void {
    this.#paying?.decideGoods(decision);
  }

  async telecollect(signal: AbortSignal): Promise<TelecollectionEnd> {
    try {
      await this.#ask(signal);
    } catch (error) {
      if (!(error instanceof TerminalUnavailable)) throw error;
      return { end: "refused", code: error.reason, text: error.message };
    }
    this.#watch.closes();
    const totals = this.#watch.device().endOfDay();
    return { end: "completed", applications: [], totals, ticket: "" };
  }

  async #ask(signal: AbortSignal): Promise<LastTransaction> {
    this.#assertThere();
    await this.#sleep(ANSWER_MS + this.#watch.device().habits.lateByMs, signal);
    this.#assertThere();
    return this.#watch.device().lastTransaction();
  }

  #assertThere(): void {
    const device = this.#watch.device();
    if (!device.reachable) throw new TerminalUnavailable("disconnected", "no line");
    if (device.busy) throw new TerminalUnavailable("busy", "busy");
    if (device.habits.isLocked) throw new TerminalUnavailable("out-of-order", "locked");
  }

  async #financial(
    what: "payment" | "reversal",
    observer: PaymentObserver,
    begin: (device: ModelDevice, register: Register) => void,
  ): Promise<PaymentEnd> {
    const waitMs = this.#watch.wireMs();
    if (waitMs > 0 && !(await this.#gotWire(waitMs))) {
      return { end: "withdrawn", text: "cancelled in time" };
    }
    return await this.#leave(what, observer, begin);
  }

  /** false: cancelled before the wire was free. */
  #gotWire(waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#life.clock.startTimer("wire", waitMs, () => {
        this.#withdraw = undefined;
        resolve(true);
      });
      this.#withdraw = () => {
        timer.clear();
        this.#withdraw = undefined;
        resolve(false);
      };
    });
  }

  #leave(
    what: "payment" | "reversal",
    observer: PaymentObserver,
    begin: (device: ModelDevice, register: Register) => void,
  ): Promise<PaymentEnd> {
    const device = this.#watch.device();
    if (!device.reachable) {
      return Promise.resolve({ end: "not-sent", code: "link", text: "no line" });
    }
    const order = this.#watch.order();
    this.#watch.leaves(what, order);
    return new Promise((resolve) => {
      this.#paying = device;
      const end = (how: PaymentEnd): void => {
        if (!this.#life.alive) return;
        this.#paying = undefined;
        resolve(how);
      };
      begin(device, this.#register(order, observer, end));
    });
  }

  #register(order: string, observer: PaymentObserver, end: (how: PaymentEnd) => void): Register {
    let hears = true;
    const alive = (): boolean => hears && this.#life.alive;
    const lost: PaymentEnd = { end: "lost", code: "no-end", text: "no end was heard", ticket: "" };
    return {
      order,
      alive,
      report: (report) => {
        if (!alive()) return "silent";
        const answer = judged(() => observer.report(report));
        if (!this.#life.alive) return "silent";
        if (answer === "accept") this.#watch.sendsAck(order);
        return answer;
      },
      ackArrived: () => {
        if (alive()) observer.ackArrived();
      },
      end: (how) => {
        if (!alive()) return;
        hears = false;
        end(how);
      },
      lose: (how) => {
        if (!alive()) return;
        hears = false;
        const afterMs = how === "line" ? 0 : T3_MS;
        this.#life.clock.startTimer("line lost", afterMs, () => end(lost));
      },
    };
  }

  async #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await sleep(this.#life.clock, "model driver", ms, signal);
  }
}

/** A throw refuses the report on the wire (terminal.ts). */
function judged(work: () => "accept" | "refuse" | "hold"): "accept" | "refuse" | "hold" {
  try {
    return work();
  } catch {
    return "refuse";
  }
}
