import { sleep } from "../../../src/shared/time.ts";
import {
  type Baseline,
  type CancelAnswer,
  type LastTransaction,
  type PaymentEnd,
  type PaymentObserver,
  type PaymentOrder,
  type RecallOrder,
  type Recollection,
  type ReversalOrder,
  type Terminal,
  type TerminalState,
  type TerminalStatus,
  TerminalUnavailable,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";
import type { Life } from "../life.ts";
import type { DriverWatch } from "../model-terminal.ts";
import type { ByIdDevice, Command, Reply } from "./by-id-device.ts";

const [ANSWER_MS, LIMIT_MS] = [100, 180_000];
const untold = { kind: "not-told", why: "it answers by id only" } as const;

/** The driver of one process's life for a terminal that is asked by id. */
export class ByIdDriver implements Terminal {
  readonly capabilities = {
    paymentLimitMs: LIMIT_MS,
    lastTransaction: false,
    recalls: true as const,
    cannotRefuse: true as const,
    vending: false,
    partialIssue: false,
  };
  readonly #life: Life;
  readonly #watch: DriverWatch;
  readonly #device: () => ByIdDevice;
  #reference: string | undefined;

  constructor(life: Life, watch: DriverWatch, device: () => ByIdDevice) {
    this.#life = life;
    this.#watch = watch;
    this.#device = device;
  }

  get state(): TerminalState {
    const { reachable, identity, busy } = this.#device();
    return {
      link: reachable ? "connected" : "disconnected",
      linkProblem: reachable ? null : "no line",
      identity,
      status: null,
      busy,
      demands: [],
    };
  }

  keepEvidence(): void {}

  start(): void {}

  close(): Promise<void> {
    return Promise.resolve();
  }

  subscribe(): () => void {
    return () => {};
  }

  async prepare(signal: AbortSignal): Promise<Baseline> {
    await this.#answers(signal);
    if (this.#device().busy) throw new TerminalUnavailable("busy", "another payment runs");
    const { identity } = this.#device();
    return { identity, last: untold, clockOffsetMs: null, registerId: "kiosk" };
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    await this.#answers(signal);
    return { cr: "0", card: "0", call: "0", periph: "0", detail: "ready" };
  }

  lastTransaction(): Promise<LastTransaction> {
    return Promise.resolve(untold);
  }

  async recall({ reference }: RecallOrder, signal: AbortSignal): Promise<Recollection> {
    await this.#answers(signal);
    const said = this.#device().recall(reference);
    if (said === "silent") throw new TerminalUnavailable("no-answer", "silent");
    return said;
  }

  abort({ reference }: RecallOrder): Promise<CancelAnswer> {
    if (this.#device().reachable) this.#device().abort(reference);
    return Promise.resolve({ answer: "taken" });
  }

  cancel(): Promise<CancelAnswer> {
    if (this.#reference === undefined) return Promise.resolve({ answer: "nothing-running" });
    return this.abort({ command: "payment", reference: this.#reference });
  }

  async pay(order: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const { reference = "" } = order;
    this.#reference = reference;
    const reply = await this.#sent("payment", order, (device, command) => device.takes(command));
    this.#reference = undefined;
    if (typeof reply !== "object") return endOf(reply);
    try {
      observer.report(reply.report);
    } catch (error) {
      return lost(`it could not be stored: ${String(error)}`);
    }
    return { end: "completed", ticket: "a ticket" };
  }

  async reverse(order: ReversalOrder): Promise<PaymentEnd> {
    const reply = await this.#sent("reversal", order, (device, command) =>
      device.takesBack(order, command),
    );
    return endOf(typeof reply === "object" ? "lost" : reply);
  }

  #sent(
    what: "payment" | "reversal",
    { reference = "", amountMinor }: PaymentOrder,
    send: (device: ByIdDevice, command: Command) => void,
  ): Promise<Reply | "not-sent"> {
    const device = this.#device();
    if (!device.reachable) return Promise.resolve("not-sent");
    const order = this.#watch.order();
    this.#watch.leaves(what, order);
    return new Promise((resolve) => {
      const timer = this.#life.clock.startTimer("answer", LIMIT_MS, () => resolve("lost"));
      const reply = (said: Reply): void => {
        timer.clear();
        if (!this.#life.alive) return;
        // What is heard comes after what made it.
        this.#life.clock.startTimer("heard", ANSWER_MS, () => resolve(said));
      };
      send(device, { order, reference, amountMinor, reply });
    });
  }

  async #answers(signal: AbortSignal): Promise<void> {
    this.#assertThere();
    await sleep(this.#life.clock, "model driver", ANSWER_MS, signal);
    this.#assertThere();
  }

  #assertThere(): void {
    if (!this.#device().reachable) throw new TerminalUnavailable("disconnected", "no line");
  }
}

function endOf(reply: Exclude<Reply, object> | "not-sent"): PaymentEnd {
  switch (reply) {
    case "not-sent":
      return { end: "not-sent", code: "link", text: "no line" };
    case "busy":
      return { end: "refused", code: "Busy", text: "busy", reason: "busy" };
    case "requested":
      return { end: "lost", code: "requested", text: "received", ticket: "" };
    case "lost":
      return lost("no answer");
  }
}
