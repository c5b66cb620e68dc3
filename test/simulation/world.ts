import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../../src/shared/catalog/errors.ts";
import type { PaymentResult } from "../../src/tp-manager/orders/orders.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { request } from "../support/house/payment-house.ts";
import { Bank } from "./bank.ts";
import { isTerminalFault, suffer } from "./device-faults.ts";
import { crashOf, DiskFailure } from "./disk.ts";
import { accountOf, giveBack } from "./gateway-returns.ts";
import { ModelIpc } from "./ipc.ts";
import { JournalWatch } from "./journal-watch.ts";
import { Kiosk } from "./kiosk.ts";
import { Life } from "./life.ts";
import { LostKnowledge } from "./lost-knowledge.ts";
import type { ModelDevice } from "./model-device.ts";
import { ModelGateway } from "./model-gateway.ts";
import type { ModelTerminal } from "./model-terminal.ts";
import { deviceOf, driverOf } from "./one-way/drivers.ts";
import { settleByStatement } from "./operator.ts";
import {
  type Action,
  type Behaviour,
  type Call,
  goodBehaviour,
  type Harm,
  isCall,
  isGatewayReturn,
  isHarm,
  isStoreHarm,
  type Plan,
  type Surroundings,
} from "./plan.ts";
import {
  keepingLog,
  type Supervisor,
  startSupervisor,
  startTpManager,
  type TpManager,
} from "./processes.ts";
import { harmStores } from "./store-faults.ts";

/** What the world saw at once and no ledger shows afterwards. */
interface Sighting {
  readonly invariant: string;
  readonly what: string;
}

const KEEP_ALIVE_MS = 1_000;
/** The order that is paid when all faults are over. */
export const NEXT_SALE = "next-sale";
const NEXT_SALE_EVERY_MS = 30_000;
const NEXT_SALE_TRIES = 60;
/** The latest notification of a return, and a repetition of it. */
const ALL_REPORTED_MS = 9 * 60_000;
const START_MS = new Date(2026, 0, 15, 13, 0, 0).getTime();
/** Everything of one run: terminal, bank, gateway, kiosk, and the processes as they come and go. */
export class World {
  readonly clock = new TestClock(START_MS);
  readonly bank = new Bank();
  readonly gateway = new ModelGateway(this.clock);
  readonly kiosk = new Kiosk(this.clock);
  readonly ipc = new ModelIpc(this.clock, () => this.supervisor);
  readonly sightings: Sighting[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), "utc-simulation-"));
  readonly log = keepingLog();
  /** Faults that struck, by name. */
  readonly struck = new Set<string>();
  device: ModelDevice;
  tpManager: TpManager | undefined;
  supervisor: Supervisor | undefined;
  /** Sales that no order asked for, by their trace number. */
  readonly unmatched = new Map<string, string>();
  readonly lost = new LostKnowledge(this.folder, this.gateway);
  /** Orders paid again that nobody could know: no store had them, nor was their sale shown. */
  readonly unknowable = new Set<string>();
  readonly #left = new WeakSet<object>();
  readonly #cancelled = new WeakSet<object>();
  #operatorSettles = false;
  #driver: ModelTerminal | undefined;
  readonly #kind: Plan["oneWay"] | "by-id";
  #behaviours: Plan["behaviours"];
  #wireMs: number[];
  #next = 0;
  /** How long after the last fault a sale was made; null: not at all. */
  nextSaleAfterMs: number | null = null;
  readonly #watch = new JournalWatch(this.folder, (...about) => this.see(...about));
  readonly devices: ModelDevice[] = [];
  /** The terminal that is to come back. */
  #away: ModelDevice | undefined;

  constructor(plan: Plan) {
    this.#kind = plan.byId ? "by-id" : plan.oneWay;
    this.#behaviours = plan.behaviours;
    this.#wireMs = [...plan.wireMs];
    this.device = this.#newDevice();
    if (plan.usedTerminal) this.device.use();
    this.gateway.account = accountOf(this, plan);
    this.startSupervisor();
    this.startTpManager();
  }

  startTpManager(): void {
    if (this.tpManager) return;
    const life = new Life(this.clock, (error) => this.fell(error));
    const watch = {
      device: () => this.device,
      order: () => this.tpManager?.arbiter.lease.current?.orderId ?? "?",
      wireMs: () => this.#wireWait(),
      leaves: (what: "payment" | "reversal", order: string) => this.#leaves(what, order),
      closes: () => this.#hasRead(),
      sendsAck: (order: string) => this.#watch.sendsAck(order),
    };
    const { ipc, log } = this;
    const { terminal, model } = driverOf(life, watch, log.log);
    this.#driver = model;
    const pollsReturns = this.gateway.account !== undefined;
    const parts = { terminal, ipc, log: log.log, pollsReturns };
    this.tpManager = startTpManager(life, this.folder, parts);
    try {
      this.tpManager.start();
    } catch (error) {
      this.fell(error);
    }
  }

  startSupervisor(): void {
    if (this.supervisor) return;
    const life = new Life(this.clock, (error) => this.fell(error));
    this.supervisor = startSupervisor(life, this.folder, this.gateway, this.log.log);
  }

  /** kill -9, and the keep-alive `ms` later. */
  killTpManager(ms: number): void {
    const dead = this.tpManager;
    if (!dead) return;
    this.tpManager = undefined;
    dead.life.die();
    dead.close();
    this.#watch.close();
    this.clock.startTimer("keep-alive", ms + KEEP_ALIVE_MS, () => this.startTpManager());
  }

  killSupervisor(ms: number): void {
    const dead = this.supervisor;
    if (!dead) return;
    this.supervisor = undefined;
    dead.life.die();
    dead.close();
    this.clock.startTimer("keep-alive", ms + KEEP_ALIVE_MS, () => this.startSupervisor());
  }

  /** Nobody caught an error: the process that it belongs to ends, as lifecycle.ts has it. */
  fell(error: unknown): void {
    const cause = error instanceof AppError && error.cause ? error.cause : error;
    // The ROLLBACK of a process that is gone finds its database closed.
    if (/database is not open/.test(String(cause))) return;
    if (cause instanceof DiskFailure) {
      if (cause.disk === this.tpManager?.life.disk) this.killTpManager(0);
      if (cause.disk === this.supervisor?.life.disk) this.killSupervisor(0);
      return;
    }
    this.see("no broken invariant", (error as Error).stack ?? String(error));
    this.killTpManager(0);
  }

  /** Sales that a terminal keeps and never reports, and that nobody has reversed. */
  get hiddenSales(): readonly number[] {
    const hidden = this.devices.flatMap((device) => [...device.hiddenSales]);
    return hidden.filter((sale) => this.bank.balanceOfSale(sale) > 0);
  }

  /** No answer about such an order can be right: only totals and numbers show its sale. */
  isHidden(order: string): boolean {
    return this.hiddenSales.some((sale) => this.bank.orderOf(sale) === order);
  }

  see(invariant: string, what: string): void {
    this.sightings.push({ invariant, what });
  }

  act(action: Action): void {
    if (isTerminalFault(action)) {
      suffer(this.device, action, this.clock.monotonicMs());
      this.struck.add(action.do);
      return;
    }
    if (isGatewayReturn(action)) {
      if (this.gateway.account) giveBack(this, this.gateway.account, action);
      return;
    }
    if (action.do !== "pay" && action.do !== "look-up") this.struck.add(action.do);
    if (isStoreHarm(action)) harmStores(this, action);
    else if (isHarm(action)) this.#harm(action);
    else if (!isCall(action)) this.#change(action);
    else if (this.tpManager) this.#ask(action, this.tpManager);
  }

  #change(action: Surroundings): void {
    switch (action.do) {
      case "replace-terminal":
        this.device.breakLine(1_000);
        this.device = this.#newDevice();
        return;
      case "terminal-comes-back":
        this.#absent(action.ms);
        return;
      case "reboot":
        this.device.reboot();
        return;
      case "line-down":
        this.device.breakLine(action.ms);
        return;
      case "not-told":
        this.device.habits.notReportedUntilMs = this.clock.monotonicMs() + action.ms;
        return;
      case "demand":
        this.device.demanding = true;
        this.#driver?.emit({ type: "demand", demand: "end-of-day" });
        return;
      case "unmatched-sale":
        this.#unmatched(action.withoutAck);
        return;
      case "stop":
        if (this.tpManager) void this.#stop(this.tpManager, action.ms);
        return;
      case "clock-jump":
        this.clock.jumpWallClock(action.ms);
        return;
      case "ipc":
        this.ipc.fail(action.mode, action.ms);
        return;
      case "supervisor-refuses":
        this.ipc.fail("refuses", action.ms);
        return;
      case "operator-settles":
        this.#operatorSettles = true;
        return;
      case "gateway":
        this.gateway.fail(action.mode, action.ms);
        return;
    }
  }

  /** Another terminal is plugged in, and then the one that was there before. */
  #absent(ms: number): void {
    this.#away ??= this.device;
    this.device.breakLine(1_000);
    this.device = this.#newDevice();
    this.clock.startTimer("comes back", ms, () => this.#comeBack());
  }

  #comeBack(): void {
    if (!this.#away) return;
    this.device.breakLine(1_000);
    this.device = this.#away;
    this.#away = undefined;
  }

  /** Only a process that lives hears of it, and only one that has begun to listen. */
  #unmatched(fate: Behaviour["withoutAck"]): void {
    if (!this.tpManager || !this.#driver) return;
    const order = `unmatched-${this.unmatched.size + 1}`;
    const report = this.device.unmatchedOrder(order, fate);
    if (!report) return;
    this.unmatched.set(report.traceNumber ?? "", order);
    try {
      this.#driver.emit({ type: "unmatched-report", report });
    } catch (error) {
      this.fell(error);
    }
  }

  /** Remembers what was taken before the command left. */
  async #cancel(arbiter: TpManager["arbiter"]): Promise<void> {
    const { current } = arbiter.lease;
    const before = current?.what === "payment" && !this.#left.has(current) ? current : undefined;
    await arbiter.running.cancel();
    if (before) this.#cancelled.add(before);
  }

  #wireWait(): number {
    const ms = this.#wireMs.shift() ?? 0;
    if (ms > 0) this.struck.add("wire busy");
    return ms;
  }

  #harm(action: Harm): void {
    const tp = this.tpManager?.life.disk;
    const supervisor = this.supervisor?.life.disk;
    switch (action.do) {
      case "crash":
        this.killTpManager(action.ms);
        return;
      case "supervisor-crash":
        this.killSupervisor(action.ms);
        return;
      case "crash-at-write":
        if (tp) tp.crash = { ...crashOf(action), crash: () => this.killTpManager(action.ms) };
        return;
      case "supervisor-crash-at-write":
        if (!supervisor) return;
        supervisor.crash = { ...crashOf(action), crash: () => this.killSupervisor(action.ms) };
        return;
      case "disk-full":
        if (tp) tp.full = { after: action.afterWrites, count: action.writes };
        return;
      case "supervisor-disk-full":
        if (supervisor) supervisor.full = { after: action.afterWrites, count: action.writes };
        return;
      case "disk-unreadable":
        if (tp) tp.unreadable = action.reads;
        return;
    }
  }

  #ask(action: Call, { life, arbiter, orders, guard, afterSale }: TpManager): void {
    const asked = { life, orders, guard };
    const ask = (order: string, work: () => Promise<PaymentResult | undefined>): void =>
      this.kiosk.ask(
        { order, call: action.do, ...("patienceMs" in action ? action : {}) },
        asked,
        work,
      );
    const nothing = async (work: () => unknown): Promise<undefined> => {
      await work();
      return undefined;
    };
    switch (action.do) {
      case "pay": {
        const { order, amountMinor, goodsSeconds } = action;
        const delivery = goodsSeconds === null ? null : { withinSeconds: goodsSeconds };
        ask(order, () => orders.pay(request(order, { amountMinor, delivery })));
        return;
      }
      case "deliver": {
        const { order, amountMinor } = action;
        const delivered = amountMinor !== 0;
        ask(order, () => afterSale.deliver(order, delivered, amountMinor ?? undefined));
        return;
      }
      case "reverse":
        ask(action.order, () => afterSale.reverse(action.order));
        return;
      case "look-up":
        ask(action.order, () => orders.lookUp(action.order));
        return;
      case "cancel":
        ask("", () => nothing(() => this.#cancel(arbiter)));
        return;
      case "end-of-day":
        ask("", () => nothing(() => arbiter.upkeep.telecollect()));
        return;
      case "accept-terminal":
        ask("", () => nothing(() => arbiter.identityCheck.accept()));
        return;
    }
  }

  /** The ordered stop of main.ts, and a start `ms` later. */
  async #stop(tpManager: TpManager, ms: number): Promise<void> {
    const { life, stop } = tpManager;
    await stop();
    if (this.tpManager !== tpManager) return;
    if (life.timers.size > 0) await this.clock.advance(0);
    this.killTpManager(ms);
  }

  /** Faults stop, everything is started, and time enough goes by for all that waits. */
  async settle(): Promise<void> {
    this.gateway.heal();
    this.ipc.heal();
    this.#comeBack();
    this.device.habits.heal();
    for (const { life } of [this.tpManager, this.supervisor].filter((each) => !!each)) {
      life.disk.heal();
    }
    await this.#sellAgain();
    this.gateway.account?.finish();
    if (this.#operatorSettles) await settleByStatement(this);
    if (this.tpManager) this.#ask({ do: "end-of-day" }, this.tpManager);
    await this.clock.advance(ALL_REPORTED_MS);
    // What is not reported by now never will be; two hours of polls more would only take time.
    void this.tpManager?.poll.close();
    await this.clock.advance(3_600_000 - ALL_REPORTED_MS);
    this.tpManager?.handOff.nudge();
    await this.clock.advance(3_600_000);
  }

  /** The kiosk's next customer tries again and again until one payment is charged. */
  async #sellAgain(): Promise<void> {
    this.#behaviours = [];
    const fromMs = this.clock.monotonicMs();
    const sale = { order: NEXT_SALE, amountMinor: 300, goodsSeconds: null, patienceMs: null };
    for (let tries = 0; tries < NEXT_SALE_TRIES && this.nextSaleAfterMs === null; tries++) {
      this.act({ do: "pay", ...sale });
      await this.clock.advance(NEXT_SALE_EVERY_MS);
      const answers = this.kiosk.answers.filter(({ order }) => order === NEXT_SALE);
      if (answers.at(-1)?.code === "TERMINAL_CHANGED") this.act({ do: "accept-terminal" });
      const paid = answers.find(({ status }) => status === "Success");
      if (paid) this.nextSaleAfterMs = paid.atMs - fromMs;
    }
  }

  close(): void {
    this.#watch.close();
    this.tpManager?.life.die();
    this.supervisor?.life.die();
    this.tpManager?.close();
    this.supervisor?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #leaves(what: "payment" | "reversal", order: string): void {
    const leased = this.tpManager?.arbiter.lease.current;
    if (leased && this.#cancelled.has(leased))
      this.see("a cancel that was taken is not lost", order);
    if (leased) this.#left.add(leased);
    this.#watch.leaves(what, order);
    if (what !== "payment") return;
    this.#hasRead();
    const asked = this.tpManager?.journal.attempts.decisive(order)?.request.amountMinor;
    if (this.lost.isBeyond(order, asked)) this.unknowable.add(order);
  }

  #hasRead(): void {
    const { lastSale } = this.device;
    const order = lastSale === undefined ? undefined : this.bank.orderOf(lastSale);
    if (lastSale === undefined || order === undefined) return;
    this.lost.hasRead(order, this.bank.balanceOfSale(lastSale));
  }

  #newDevice(): ModelDevice {
    const serial = `SN-${this.devices.length + 1}`;
    const struck = (fault: string): void => void this.struck.add(fault);
    const next = (): Behaviour => {
      const behaviour = this.#behaviours[this.#next++];
      if (behaviour && behaviour.outcome !== "approve") this.struck.add(behaviour.outcome);
      if (behaviour?.withoutAck === "hidden") this.struck.add("hides a kept sale");
      if (behaviour?.lost) this.struck.add(`line lost at ${behaviour.lost.at}`);
      return behaviour ?? goodBehaviour;
    };
    const { clock, bank } = this;
    const device = deviceOf(this.#kind, { clock, bank, serial, struck, next });
    this.devices.push(device);
    return device;
  }
}
