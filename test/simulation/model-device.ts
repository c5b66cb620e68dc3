import { sleep } from "../../src/shared/time.ts";
import type {
  AbortReason,
  ClosingTotals,
  GoodsDecision,
  LastTransaction,
  PaymentEnd,
  PaymentOrder,
  ReversalOrder,
  TerminalIdentity,
  TransactionReport,
} from "../../src/tp-manager/terminal/terminal.ts";
import type { TestClock } from "../support/clocks/test-clock.ts";
import type { Bank } from "./bank.ts";
import { DeviceHabits } from "./device-habits.ts";
import { ModelNumbers, ModelStorage } from "./model-storage.ts";
import type { Behaviour, Moment } from "./plan.ts";

/** The driver's end of one financial command. Nothing reaches a register that is gone. */
export interface Register {
  readonly order: string;
  readonly alive: () => boolean;
  readonly report: (report: TransactionReport) => "accept" | "refuse" | "hold" | "silent";
  readonly ackArrived: () => void;
  readonly end: (end: PaymentEnd) => void;
  /** The line breaks for this command. */
  readonly lose: (how: "line" | "silence") => void;
}

const REPORT_TIMEOUT_MS = 5_000;
/** An automatic reversal has begun long before a recovery looks for the second time. */
const LATE_REVERSAL_MS = 8_000;
const REBOOT_MS = 20_000;
/** A closing asks the host; a memory is cleared at the menu, or by a start. */
const EMPTYING_MS = 10_000;

interface Running {
  readonly register: Register;
  readonly behaviour: Behaviour;
  cancelled: boolean;
  /** Wakes the customer's wait. */
  wake: AbortController;
  decide: (decision: GoodsDecision) => void;
  rebooted: boolean;
  charged: boolean;
}

/**
 * A card terminal with its bank, as docs/zvt.md 9.1 describes it, on the test clock. It lives apart
 * from the register's process: what it was sent stays known to it when that process is gone.
 */
export class ModelDevice {
  readonly identity: TerminalIdentity;
  readonly #clock: TestClock;
  readonly #bank: Bank;
  readonly #next: () => Behaviour;
  readonly #wallStartMs: number;
  readonly numbers = new ModelNumbers(() => this.nowMs);
  readonly #storage = new ModelStorage();
  readonly habits: DeviceHabits;
  lineDownUntilMs = 0;
  /** Kept, closed with the others, and never reported when the last transaction is asked for. */
  readonly hiddenSales = new Set<number>();
  /** Closed with a storage that it emptied by itself: in the totals of no end of day. */
  readonly unseenSales = new Set<number>();
  /** The terminal wants its end of day. */
  demanding = false;
  #running: Running | undefined;
  /** It empties its storage by itself. */
  #isClosing = false;

  constructor(clock: TestClock, bank: Bank, serialNumber: string, next: () => Behaviour) {
    this.#clock = clock;
    this.#bank = bank;
    this.#next = next;
    this.habits = new DeviceHabits(clock);
    // A terminal's own clock: another than ours, and it does not jump when ours does.
    this.#wallStartMs = clock.now() - clock.monotonicMs() + 90_000;
    this.identity = {
      serialNumber,
      deviceId: "model terminal",
      terminalId: "52500001",
      version: "1.0",
    };
  }

  get nowMs(): number {
    return this.#wallStartMs + this.#clock.monotonicMs();
  }

  get busy(): boolean {
    return this.#running !== undefined || this.#isClosing;
  }

  get reachable(): boolean {
    return this.#clock.monotonicMs() >= this.lineDownUntilMs;
  }

  lastTransaction(): LastTransaction {
    const { isSilent, spelling, isStale } = this.habits;
    if (isSilent) return { kind: "not-told", why: "nothing was reported" };
    return this.#storage.lastTransaction(spelling, isStale);
  }

  /** The sale that it reports as its last transaction; undefined: none, or it reports nothing. */
  get lastSale(): number | undefined {
    return this.habits.isSilent ? undefined : this.#storage.lastSale;
  }

  /** A sale of another register, from before. */
  use(): void {
    const sale = this.#bank.begin(this.#clock.monotonicMs());
    this.#commit(sale, this.numbers.report({ amountMinor: 700, currencyNumeric: "978" }));
    this.numbers.nextReceipt();
  }

  /** A sale out of nowhere; its report is refused, and then it becomes of it what is planned. */
  unmatchedOrder(order: string, fate: Behaviour["withoutAck"]): TransactionReport | undefined {
    if (this.busy || !this.reachable) return undefined;
    const amountMinor = 4_321;
    const sale = this.#bank.begin(this.#clock.monotonicMs());
    const report = this.numbers.report({ amountMinor, currencyNumeric: "978" });
    this.#bank.enter(this.#movement("charge", sale, order, amountMinor));
    if (fate === "kept") this.#commit(sale, report);
    if (fate === "reversed-late") this.#storage.keep(sale, report);
    const afterMs = fate === "reversed-late" ? LATE_REVERSAL_MS : 3_000;
    if (fate !== "kept") void this.#pause(afterMs).then(() => this.#takeBack(sale, order));
    return report;
  }

  breakLine(ms: number): void {
    this.lineDownUntilMs = Math.max(this.lineDownUntilMs, this.#clock.monotonicMs() + ms);
    this.#running?.register.lose("line");
  }

  /** Power off and on: what was not final is reversed after the start (docs/zvt.md 9.1). */
  reboot(): void {
    const running = this.#running;
    this.breakLine(REBOOT_MS);
    if (!running) return;
    running.rebooted = true;
    running.wake.abort();
    running.decide({ goods: "not-issued" });
  }

  /** The turnover is closed: what was stored cannot be reversed, and nothing is last any more. */
  endOfDay(): ClosingTotals {
    const sums = [...this.#storage.sales].map((sale) => this.#bank.balanceOfSale(sale));
    const standing = sums.filter((sumMinor) => sumMinor > 0);
    const sumMinor = standing.reduce((sum, one) => sum + one, 0);
    const totals = { ...this.numbers.range, count: standing.length, sumMinor };
    this.forget(null);
    this.demanding = false;
    return totals;
  }

  /** After what is running, and busy meanwhile (docs/rules/28-unchanged-storage.md). */
  async emptyItself(startsOver: "receipts" | "all" | null): Promise<void> {
    while (this.busy) await this.#pause(1_000);
    this.#isClosing = true;
    await this.#pause(EMPTYING_MS);
    this.#isClosing = false;
    for (const sale of this.#storage.sales) this.unseenSales.add(sale);
    this.forget(startsOver);
  }

  /**
   * Everything stored is gone; the numbers go on, or begin again as far as is said.
   */
  forget(startsOver: "receipts" | "all" | null): void {
    this.#storage.empty();
    if (startsOver) this.numbers.startOver(startsOver);
    this.numbers.emptied();
  }

  /** Asks for the end of the running command. */
  cancel(): "taken" | "refused" | "ignored" {
    const running = this.#running;
    if (!running) return "refused";
    const { cancel } = running.behaviour;
    if (cancel === "ignored") return "ignored";
    if (cancel === "refused" || running.charged) return "refused";
    if (cancel === "taken") {
      running.cancelled = true;
      running.wake.abort();
    }
    return "taken";
  }

  decideGoods(decision: GoodsDecision): void {
    this.#running?.decide(decision);
  }

  pay(order: PaymentOrder, register: Register): void {
    void this.#financial(register, (running, sale) => this.#sale(order, running, sale));
  }

  reverse(order: ReversalOrder, register: Register): void {
    void this.#financial(register, (running) => this.#reversal(order, running));
  }

  async #financial(
    register: Register,
    work: (running: Running, sale: number) => Promise<void>,
  ): Promise<void> {
    const behaviour = this.#next();
    const running: Running = {
      register,
      behaviour,
      cancelled: false,
      wake: new AbortController(),
      decide: () => {},
      rebooted: false,
      charged: false,
    };
    if (this.#lost(running, "command")) return;
    // A message that was on its way when the line broke, and arrives all the same.
    if (this.#lost(running, "command-late")) await this.#pause(30_000);
    if (this.busy) return register.end(refused("84 9C", "busy"));
    this.#running = running;
    this.#lost(running, "accepted");
    try {
      await work(running, this.#bank.begin(this.#clock.monotonicMs()));
    } finally {
      this.#running = undefined;
    }
  }

  async #sale(order: PaymentOrder, running: Running, sale: number): Promise<void> {
    const { behaviour, register } = running;
    const { outcome } = behaviour;
    if (outcome === "refuse") return register.end(refused("84 83", "not possible"));
    await this.#customer(running);
    if (running.rebooted) return;
    if (running.cancelled) return register.end(aborted("6C", "cancelled"));
    if (outcome === "walk-away") return register.end(aborted("6C", "customer-timeout"));
    if (outcome === "decline") return this.#declined(running);
    if (outcome === "wrong-pin-first") {
      register.report(this.numbers.report({ ...order, good: false, resultCode: "75" }));
      await this.#pause(3_000);
    }
    const amountMinor = order.amountMinor + (outcome === "other-amount" ? 1 : 0);
    const report = this.numbers.report({
      amountMinor,
      currencyNumeric: order.currencyNumeric,
      ...(outcome === "no-result-code" ? { resultCode: null, good: false } : {}),
    });
    this.#bank.enter(this.#movement("charge", sale, register.order, amountMinor));
    running.charged = true;
    await this.#reportSale(running, sale, report);
  }

  async #reportSale(running: Running, sale: number, report: TransactionReport): Promise<void> {
    const { behaviour, register } = running;
    if (behaviour.outcome === "no-report") {
      this.#commit(sale, report);
      return this.#complete(running);
    }
    if (behaviour.withoutAck === "reversed-late") this.#storage.keep(sale, report);
    let answer = this.#lost(running, "report") ? "silent" : register.report(report);
    if (answer === "accept" && behaviour.outcome === "report-twice")
      answer = register.report(report);
    if (answer === "hold") {
      const decision = await this.#goods(running);
      if (decision === null) answer = "silent";
      else if (decision.goods === "not-issued") return await this.#notIssued(running, sale, report);
      else return await this.#issued(running, sale, report, decision);
    }
    if (answer === "accept" && this.#lost(running, "answer")) answer = "silent";
    if (answer === "refuse") return await this.#undo(running, sale);
    if (answer === "silent" || running.rebooted) return await this.#unheard(running, sale, report);
    await this.#stored1(running, sale, report);
  }

  /** With its ACK: prints, stores, completes. */
  async #stored1(running: Running, sale: number, report: TransactionReport): Promise<void> {
    const { behaviour, register } = running;
    const { outcome } = behaviour;
    if (!behaviour.printsCount && outcome !== "report-then-abort-reversed") {
      this.#commit(sale, report);
    }
    await this.#pause(50);
    this.#lost(running, "printing");
    const unprinted = !register.alive() || running.rebooted;
    if (!unprinted) {
      register.ackArrived();
      if (!behaviour.printsCount && outcome !== "report-then-abort-reversed") {
        this.#storage.keep(sale, report, true);
      }
    }
    await this.#pause(200);
    if (behaviour.printsCount && unprinted) return await this.#undo(running, sale);
    if (outcome === "report-then-abort-reversed") return await this.#undo(running, sale);
    if (behaviour.printsCount) this.#commit(sale, report, true);
    if (outcome === "report-then-abort-kept") return register.end(aborted("6C", "terminal-fault"));
    this.#complete(running);
  }

  /** null: no word in the terminal's own window, or the line is gone. */
  async #goods(running: Running): Promise<GoodsDecision | null> {
    const { promise, resolve } = Promise.withResolvers<GoodsDecision | null>();
    running.decide = resolve;
    const window = this.#clock.startTimer("goods window", 60_000, () => resolve(null));
    const decision = await promise;
    window.clear();
    return running.register.alive() && !running.rebooted ? decision : null;
  }

  async #notIssued(running: Running, sale: number, report: TransactionReport): Promise<void> {
    await this.#undo(running, sale, false);
    running.register.report({ ...report, good: false, resultCode: "6C", reason: "cancelled" });
    running.register.end(aborted("6C", "cancelled"));
  }

  async #issued(
    running: Running,
    sale: number,
    report: TransactionReport,
    decision: GoodsDecision,
  ): Promise<void> {
    const { register } = running;
    if (this.#lost(running, "answer")) return await this.#unheard(running, sale, report);
    let final = report;
    if (decision.goods === "partly-issued") {
      const { amountMinor } = decision;
      const backMinor = (report.amountMinor ?? 0) - amountMinor;
      this.#bank.enter(this.#movement("reversal", sale, register.order, backMinor));
      final = { ...report, amountMinor };
    }
    if (register.report(final) !== "accept") return await this.#unheard(running, sale, final);
    await this.#stored1(running, sale, final);
  }

  /** The report got no ACK (docs/zvt.md 9.1, 9.4). */
  async #unheard(running: Running, sale: number, report: TransactionReport): Promise<void> {
    const { withoutAck } = running.behaviour;
    if (running.rebooted || withoutAck === "reversed") {
      await this.#pause(REPORT_TIMEOUT_MS);
      return await this.#undo(running, sale);
    }
    if (withoutAck === "kept" || withoutAck === "hidden") {
      if (withoutAck === "kept") this.#storage.keep(sale, report);
      else {
        this.#storage.hide(sale, report);
        this.hiddenSales.add(sale);
      }
      this.numbers.nextReceipt();
      return running.register.end(aborted("6C", "terminal-fault"));
    }
    // The terminal seems idle and has the sale stored, and still takes it back a little later.
    this.#running = undefined;
    await this.#pause(LATE_REVERSAL_MS);
    this.#takeBack(sale, running.register.order);
    running.register.end(aborted("6C", "terminal-fault"));
  }

  async #undo(running: Running, sale: number, ends = true): Promise<void> {
    if (running.rebooted) await this.#pause(REBOOT_MS);
    else await this.#pause(3_000);
    this.#takeBack(sale, running.register.order);
    if (ends) running.register.end(aborted("6C", "terminal-fault"));
  }

  #takeBack(sale: number, order: string): void {
    const amountMinor = this.#bank.balanceOfSale(sale);
    this.#bank.enter(this.#movement("reversal", sale, order, amountMinor));
    this.#storage.takeBack(sale);
    this.numbers.skipTrace();
  }

  async #reversal({ receiptNumber, amountMinor }: ReversalOrder, running: Running): Promise<void> {
    const { register, behaviour } = running;
    if (behaviour.outcome === "refuse") return register.end(refused("84 83", "not possible"));
    await this.#customer({ ...running, behaviour: { ...behaviour, customerMs: 1_000 } });
    if (running.rebooted) return;
    const found = this.#storage.find(
      ({ sale, report }) =>
        report.receiptNumber === receiptNumber && this.#bank.balanceOfSale(sale) === amountMinor,
    );
    if (!found || behaviour.outcome === "decline") return this.#declined(running);
    const movement = this.#movement("reversal", found.sale, register.order, amountMinor);
    this.#bank.enter({ ...movement, asked: true });
    const originalTrace = behaviour.numbersOriginal ? found.report.traceNumber : null;
    const report = this.numbers.report({ amountMinor, originalTrace });
    this.#storage.keep(found.sale, report);
    this.numbers.nextReceipt();
    const answer = this.#lost(running, "report") ? "silent" : register.report(report);
    if (answer === "silent" || this.#lost(running, "answer")) return;
    // It stands, whatever the register says to it.
    if (answer !== "accept") return this.#complete(running);
    await this.#pause(50);
    this.#lost(running, "printing");
    register.ackArrived();
    await this.#pause(200);
    this.#complete(running);
  }

  #declined({ register }: Running): void {
    register.report(this.numbers.report({ good: false, resultCode: "05", reason: "declined" }));
    register.end(aborted("05", "declined"));
  }

  #complete(running: Running): void {
    if (this.#lost(running, "completion")) return;
    running.register.end({ end: "completed", ticket: "a ticket" });
  }

  /** Whether the line is lost at this moment, or was before. */
  #lost({ behaviour: { lost }, register }: Running, moment: Moment): boolean {
    if (lost?.at === moment) {
      if (lost.how === "line") {
        this.lineDownUntilMs = Math.max(this.lineDownUntilMs, this.#clock.monotonicMs() + lost.ms);
      }
      register.lose(lost.how);
    }
    return !register.alive();
  }

  async #customer({ behaviour: { customerMs }, wake }: Running): Promise<void> {
    await sleep(this.#clock, "customer", customerMs, wake.signal).catch(() => {
      // Cancelled, or power gone: the caller checks which.
    });
  }

  #pause(ms: number): Promise<void> {
    return sleep(this.#clock, "model terminal", ms);
  }

  #commit(sale: number, report: TransactionReport, known = false): void {
    this.#storage.keep(sale, report, known);
    this.numbers.nextReceipt();
  }

  #movement(kind: "charge" | "reversal", sale: number, order: string, amountMinor: number) {
    return { kind, sale, order, amountMinor, atMs: this.#clock.monotonicMs(), asked: false };
  }
}

function aborted(code: string, reason: AbortReason): PaymentEnd {
  return { end: "aborted", code, text: reason, reason, ticket: "" };
}

function refused(code: string, text: string): PaymentEnd {
  return { end: "refused", code, text };
}
