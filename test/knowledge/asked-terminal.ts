import { sleep } from "../../src/shared/time.ts";
import {
  type Baseline,
  type CancelAnswer,
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
  type TransactionReport,
} from "../../src/tp-manager/terminal/terminal.ts";
import { identityOf, takeBack } from "../explore/device.ts";
import { notGood } from "../explore/entry-reports.ts";
import type { Life } from "../simulation/life.ts";
import { lost } from "../support/terminals/scripted-terminal.ts";
import { paymentWays } from "./payment-ways.ts";
import { lastOfWorld, recordOf, reversalOf, textOf } from "./records.ts";
import { WRONG_MINOR } from "./scope.ts";
import type { World } from "./world.ts";

const [ANSWER_MS, CARD_MS, WITHIN_LIMIT_MS, LIMIT_MS] = [100, 3_000, 100_000, 180_000];
const never = new Promise<never>(() => {});
const ready: TerminalStatus = { cr: "0", card: "0", call: "0", periph: "0", detail: "ready" };

/** A terminal that can be asked for its last transaction: one life's driver for the device. */
export class AskedTerminal implements Terminal {
  readonly capabilities = {
    paymentLimitMs: LIMIT_MS,
    lastTransaction: true,
    vending: false,
    partialIssue: false,
  };
  readonly #world: World;
  readonly #life: Life;
  readonly #listeners = new Set<(event: TerminalEvent) => void>();
  #isBusy = false;

  constructor(world: World, life: Life) {
    this.#world = world;
    this.#life = life;
  }

  get state(): TerminalState {
    const { isAway, device } = this.#world;
    return {
      link: isAway ? "disconnected" : "connected",
      linkProblem: isAway ? "no line" : null,
      identity: identityOf(device),
      status: ready,
      busy: this.#isBusy,
      demands: [],
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

  async prepare(signal: AbortSignal): Promise<Baseline> {
    const last = await this.lastTransaction(signal);
    return {
      identity: identityOf(this.#world.device),
      last,
      clockOffsetMs: this.#world.clockAheadMs,
    };
  }

  async check(signal: AbortSignal): Promise<TerminalStatus> {
    await this.#answers(signal);
    return ready;
  }

  async lastTransaction(signal: AbortSignal): Promise<LastTransaction> {
    await this.#answers(signal);
    const last = lastOfWorld(this.#world);
    this.#world.recorder.known(`a probe: ${textOf(last)}`);
    return last;
  }

  cancel(): Promise<CancelAnswer> {
    return Promise.resolve({ answer: "taken" });
  }

  async telecollect(): Promise<TelecollectionEnd> {
    if (this.#isAlone) return { end: "refused", code: "9C", text: "busy" };
    await this.#wait(CARD_MS);
    this.#world.closes();
    return { end: "completed", applications: [], ticket: "" };
  }

  async pay({ amountMinor }: PaymentOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    const { chooser, order } = this.#world;
    if (this.#world.isAway) return { end: "not-sent", code: "link", text: "no line" };
    if (this.#isAlone) {
      return this.#heard({ end: "refused", code: "9C", text: "busy", reason: "busy" });
    }
    this.#world.leaves("payment");
    const way = chooser.choose(`the payment of ${order}`, paymentWays(this.#world));
    await this.#wait(CARD_MS);
    if (way.includes(" record is reported: ")) {
      return await this.#reportedAgain(Number(way.split(": ")[1]), observer);
    }
    switch (way) {
      case "the bank approves":
        return await this.#approves(observer);
      case "the bank declines":
        this.#declines(observer);
        return this.#aborts("declined", "05");
      case "the bank declines, and the sale is stored":
        this.#declines(observer);
        this.#world.keep(this.#world.charge(order, {}, "decline-final"));
        return this.#aborts("declined", "05");
      case "a sale of staff is reported":
        return await this.#reportedAgain(this.#world.staffSells(amountMinor), observer);
      case "tp-manager is killed, the customer goes":
        this.#world.staff("at the terminal meanwhile");
        return await this.#killed();
      case "tp-manager is killed, the bank approves":
        this.#world.keep(this.#world.charge(order));
        return await this.#killed();
      default:
        return way.startsWith("the line is lost") ? this.#lost(way) : this.#goes(way);
    }
  }

  async reverse(order: ReversalOrder, observer: PaymentObserver): Promise<PaymentEnd> {
    if (this.#isAlone) {
      return this.#heard({ end: "refused", code: "9C", text: "busy", reason: "busy" });
    }
    const { chooser, device, storesReversals, forgetsReversed } = this.#world;
    const named = device.entries.findLastIndex(
      ({ receipt, original, money }) =>
        receipt === Number(order.receiptNumber) && original === null && money === "standing",
    );
    this.#world.leaves("reversal", named < 0 ? null : named);
    const way = chooser.choose("the reversal", [
      "it is carried out",
      "it is carried out, and its end is lost",
      "it is carried out, its report is heard, and its end is lost",
      "the line is lost, and nothing happens",
      "it is refused",
    ]);
    await this.#wait(CARD_MS);
    const isDone = way.startsWith("it is carried out") && named >= 0;
    if (!isDone)
      return way.startsWith("the line")
        ? this.#heard(lost("line"))
        : this.#aborts("declined", "B5");
    const { stored, before } = device;
    takeBack(device, named, storesReversals);
    if (!storesReversals && !forgetsReversed) Object.assign(device, { stored, before });
    this.#world.bank();
    if (way === "it is carried out, and its end is lost") return this.#heard(lost("line"));
    const made = storesReversals ? device.entries.length - 1 : null;
    const reported = made === null ? reversalOf(this.#world, named) : recordOf(this.#world, made);
    this.#hear(made, reported, observer);
    if (way !== "it is carried out") return this.#heard(lost("line"));
    observer.ackArrived();
    return this.#heard({ end: "completed", ticket: "" });
  }

  async #approves(observer: PaymentObserver): Promise<PaymentEnd> {
    const { chooser, order, device, storesReversals } = this.#world;
    const index = this.#world.charge(order);
    const reported = recordOf(this.#world, index);
    if (this.#hear(index, reported, observer) !== "accept") {
      takeBack(device, index, storesReversals);
      this.#world.bank();
      return this.#aborts("terminal-fault", "6C");
    }
    const way = chooser.choose("after the report", [
      "it ends well",
      "the ACK arrived, the line is lost",
      "the ACK arrived and something is printed, the line is lost, a probe is stale",
      "the ACK arrived and something is printed, the line is lost",
      "the ACK did not arrive, the sale is kept",
      "the ACK did not arrive, the sale is taken back",
      ["a second sale of this order is reported", "second sales"],
      ["tp-manager is killed", "restarts"],
    ]);
    if (way === "the ACK did not arrive, the sale is taken back") {
      takeBack(device, index, storesReversals);
      this.#world.bank();
      return this.#heard(lost("line"));
    }
    this.#world.keep(index);
    if (way === "tp-manager is killed") return await this.#killed();
    if (way.includes("printed") || way === "it ends well") observer.ackArrived();
    if (way.endsWith("a probe is stale")) this.#staysStale();
    if (way.startsWith("a second sale")) return await this.#approves(observer);
    if (way === "it ends well") return this.#heard({ end: "completed", ticket: "" });
    this.#world.staff("at the terminal meanwhile");
    return this.#heard(lost("line"));
  }

  async #reportedAgain(index: number, observer: PaymentObserver): Promise<PaymentEnd> {
    const answer = this.#hear(index, recordOf(this.#world, index), observer);
    if (answer !== "accept") return this.#aborts("terminal-fault", "6C");
    await this.#wait(ANSWER_MS);
    observer.ackArrived();
    return this.#heard({ end: "completed", ticket: "" });
  }

  #goes(way: string): PaymentEnd {
    const { order, attempt } = this.#world;
    const amount = way.includes("another amount") ? { amountMinor: WRONG_MINOR } : {};
    const sells = (): number => this.#world.charge(order, { attempt, ...amount }, "abort-final");
    if (way.endsWith("is stored")) this.#world.keep(sells());
    if (way.endsWith("stored later")) {
      this.#later(WITHIN_LIMIT_MS / 5, () => this.#world.keep(sells()));
    }
    if (way.endsWith("reported late")) this.#later(CARD_MS, () => this.#reportsLate(sells()));
    return this.#aborts("cancelled", "6C");
  }

  #lost(way: string): PaymentEnd {
    const { order, attempt, device, storesReversals } = this.#world;
    if (way.endsWith("the customer goes")) {
      this.#busyFor(CARD_MS, () => this.#world.staff("at the terminal meanwhile"));
    } else if (way.endsWith("later") || way.endsWith("too late")) {
      const isTooLate = way.endsWith("too late");
      const broke = isTooLate ? "fresh-storage" : null;
      if (!isTooLate) device.process = { at: "paying", order, alone: true };
      this.#later(isTooLate ? 2 * LIMIT_MS : WITHIN_LIMIT_MS, () => {
        device.process = { at: "idle" };
        this.#world.keep(this.#world.charge(order, { attempt }, broke));
      });
    } else {
      this.#busyFor(CARD_MS, () => {
        const index = this.#world.charge(order, { attempt });
        if (way.endsWith("new line")) this.#reportsLate(index);
        else if (way.endsWith("taken back")) takeBack(device, index, storesReversals);
        else this.#world.keep(index);
        this.#world.bank();
      });
    }
    return this.#heard(lost("line"));
  }

  /** A report with nothing running: it is refused, and kept or taken back all the same. */
  #reportsLate(index: number): void {
    const { chooser, device, storesReversals, recorder } = this.#world;
    const reported = recordOf(this.#world, index);
    if (this.#life.alive) {
      recorder.known(
        `a report, and nothing runs: ${textOf({ kind: "transaction", report: reported })}`,
      );
      recorder.shows(index, JSON.stringify(reported));
      for (const listener of this.#listeners)
        listener({ type: "unmatched-report", report: reported });
    }
    const fate = chooser.choose("refused, the sale is", ["taken back", "kept"]);
    if (fate === "kept") this.#world.keep(index);
    else takeBack(device, index, storesReversals);
    this.#world.bank();
  }

  /** The terminal answers questions, and is still with the customer of an earlier payment. */
  get #isAlone(): boolean {
    return this.#world.device.process.at === "paying";
  }

  #hear(index: number | null, reported: TransactionReport, observer: PaymentObserver): string {
    const { recorder } = this.#world;
    recorder.known(`a report: ${textOf({ kind: "transaction", report: reported })}`);
    recorder.shows(index, JSON.stringify(reported));
    let answer: string;
    try {
      answer = observer.report(reported);
    } catch {
      answer = "refuse";
    }
    recorder.known(`-> ${answer}`);
    return answer;
  }

  #declines(observer: PaymentObserver): void {
    const amountMinor = this.#world.amountOf(this.#world.order);
    const said = { reason: "declined", resultCode: "05", resultText: "declined" } as const;
    const reported = { ...notGood, ...said, amountMinor };
    this.#hear(null, reported, observer);
  }

  #aborts(reason: "declined" | "cancelled" | "terminal-fault", code: string): PaymentEnd {
    return this.#heard({ end: "aborted", code, text: reason, reason, ticket: "" });
  }

  #heard(end: PaymentEnd): PaymentEnd {
    this.#world.recorder.known(`the command ends: ${end.end} ${"code" in end ? end.code : ""}`);
    return end;
  }

  #killed(): Promise<never> {
    this.#world.kill();
    return never;
  }

  #staysStale(): void {
    const { device } = this.#world;
    device.stale = true;
    this.#later(WITHIN_LIMIT_MS, () => {
      device.stale = false;
    });
  }

  /** The device goes on, whatever becomes of the register. */
  #later(ms: number, work: () => void): void {
    this.#world.clock.startTimer("the terminal", ms, work);
  }

  #busyFor(ms: number, then: () => void): void {
    this.#isBusy = true;
    this.#later(ms, () => {
      this.#isBusy = false;
      then();
    });
  }

  async #answers(signal: AbortSignal): Promise<void> {
    await sleep(this.#life.clock, "the terminal's answer", ANSWER_MS, signal);
    if (!this.#life.alive) await never;
    if (this.#world.isAway) throw new TerminalUnavailable("disconnected", "no line");
    if (this.#isBusy) throw new TerminalUnavailable("busy", "busy");
  }

  async #wait(ms: number): Promise<void> {
    await sleep(this.#life.clock, "the terminal", ms);
    if (!this.#life.alive) await never;
  }
}
