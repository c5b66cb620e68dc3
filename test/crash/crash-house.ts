import { systemClock } from "../../src/shared/time.ts";
import { asSlow } from "../support/clocks/patience.ts";
import { Random } from "../support/inputs/random.ts";
import { until } from "../support/programs/child-program.ts";
import type { Attack } from "./attack.ts";
import { CrashSite } from "./crash-site.ts";
import { GatewayAttack } from "./gateway-attacks.ts";
import { type Command, type KillPlan, type Victim, wires } from "./kill-plan.ts";
import { OneWaySaleAttack } from "./one-way-attack.ts";
import { Recorder, recordingLibrary } from "./power/recorder.ts";
import { RestoreAttack } from "./restore-attack.ts";
import {
  EndOfDayAttack,
  HousekeepingAttack,
  ReversalAttack,
  SaleAttack,
  TwoPhaseAttack,
} from "./terminal-attacks.ts";
import type { TerminalKind } from "./terminal-kinds.ts";
import { type WireEvent, WireWatch } from "./wire-watch.ts";

/** What became of one kill. JSON. */
export interface KillResult {
  readonly index: number;
  readonly command: Command;
  readonly victim: Victim;
  /** Where the terminal was: `0601 reported`, or "idle". */
  readonly where: string;
  /** How the order ended. */
  readonly end: string;
  readonly violations: readonly string[];
  /** Everything known about the order, when a sentence was broken. */
  readonly detail?: unknown;
}

/** A kill whose moment never comes is done anyway. */
const MOMENT_LIMIT_MS = asSlow(1_500);
const HOLD_MS = 30;
/** An order in doubt is looked up twice, a minute apart; a restore begins again (design 8.5). */
const SENT_WITHIN_MS = asSlow(240_000);

/**
 * One installation of real processes that takes one command after the other while its processes
 * are killed with -9, or lose their power, and are started again.
 */
export class CrashHouse {
  readonly #site: CrashSite;
  #recorder: Recorder | undefined;
  #watch: WireWatch | undefined;
  readonly #charged = new Map<string, number>();
  readonly #notCharged = new Set<string>();

  constructor(kind: TerminalKind) {
    this.#site = new CrashSite(kind, (data) => {
      const library = recordingLibrary();
      if (library !== null) this.#recorder ??= new Recorder(library, data);
      return this.#recorder;
    });
  }

  /** Everything runs and one sale is made: the terminal has a last transaction. */
  async open(): Promise<void> {
    const { at } = this.#site;
    await at.start();
    await at.connected();
    this.#watch = await WireWatch.open(this.#site.control);
    await at.firstPaid("seed");
  }

  async close(): Promise<void> {
    this.#watch?.close();
    await this.#site.at.stop();
    this.#recorder?.close();
  }

  /** One command, one kill, recovery, comparison. */
  async kill(plan: KillPlan): Promise<KillResult> {
    const { index, command, victim } = plan;
    const attack = attackOf(plan, this.#site);
    await attack.prepare();
    if (plan.moment.at === "hold") await this.#hold(plan.moment.phase, command);
    if (plan.gateway) await this.#gatewayFault(plan.gateway);

    const events: WireEvent[] = [];
    const moment = this.#momentOf(plan, events);
    const first = attack.ask();
    await (plan.moment.at === "change" ? first : moment);
    const where = whereabouts(events.at(-1), wires[command]?.control);
    await this.#killAndStart(plan);
    const repeat = plan.repeats === "at once" ? attack.ask() : undefined;
    await Promise.all([first, repeat]);
    await this.#clearFaults();
    const { mayRepeat } = await attack.settle(events);
    if (plan.repeats === "afterwards" && mayRepeat) {
      await attack.ask();
      await attack.settle(events);
    }
    const { end, violations, detail, atGatewayMinor } = await attack.verdict(events);
    if (atGatewayMinor === 0) this.#notCharged.add(attack.orderId);
    else if (atGatewayMinor !== null) this.#charged.set(attack.orderId, atGatewayMinor);
    const result = { index, command, victim, where, end, violations };
    if (violations.length === 0) return result;
    return { ...result, detail: { known: detail, log: this.#site.newestLog() } };
  }

  /** The third ledger: every charged order is at the gateway, and no other one. */
  async compareGateway(): Promise<string[]> {
    const { at } = this.#site;
    const missing = async (): Promise<string[]> => {
      const orders = await at.orders();
      return [...this.#charged].flatMap(([orderId, amountMinor]) => {
        const found = orders.find((order) => order.merchantReference === orderId);
        return found && Math.round(Number(found.amount) * 100) === amountMinor ? [] : [orderId];
      });
    };
    const all = async (): Promise<true | undefined> =>
      (await missing()).length === 0 ? true : undefined;
    await until("every charged order is at the gateway", all, SENT_WITHIN_MS).catch(() => {});
    const lost = await missing();
    const wrong = (await at.orders()).filter(({ merchantReference }) =>
      this.#notCharged.has(merchantReference),
    );
    return [
      ...lost.map(
        (orderId) =>
          "a charged order reaches the gateway: " +
          `${orderId} did not (${this.#site.inOutbox(orderId)})`,
      ),
      ...wrong.map(
        ({ merchantReference }) =>
          `only charged orders reach the gateway: ${merchantReference} did`,
      ),
    ];
  }

  /** Resolves when the moment of the kill has come. */
  #momentOf({ moment }: KillPlan, events: WireEvent[]): Promise<void> {
    return new Promise((resolve) => {
      const limit = systemClock.startTimer("moment", MOMENT_LIMIT_MS, resolve);
      const now = (afterMs: number): void => {
        limit.clear();
        if (afterMs === 0) resolve();
        else systemClock.startTimer("kill", afterMs, resolve);
      };
      let counted = 0;
      this.#watch?.listen((event) => {
        events.push(event);
        if (moment.at === "event" && counted++ === moment.number) now(moment.delayMs);
        if (moment.at === "hold" && event.phase === moment.phase) now(HOLD_MS / 2);
      });
      if (moment.at === "time") now(moment.afterMs);
    });
  }

  async #killAndStart({ victim, luck }: KillPlan): Promise<void> {
    const { at } = this.#site;
    switch (victim) {
      case "tp-manager":
        await at.tpManager?.end("SIGKILL");
        return await at.startTpManager();
      case "supervisor":
        await at.supervisor?.end("SIGKILL");
        return await at.startSupervisor();
      case "the restore":
        await Promise.all([at.startTpManager(), at.startSupervisor()]);
        return;
      case "both programs":
      case "the kiosk's power":
        await Promise.all([at.tpManager?.end("SIGKILL"), at.supervisor?.end("SIGKILL")]);
        if (victim === "the kiosk's power") this.#recorder?.cutPower(new Random(luck));
        await Promise.all([at.startTpManager(), at.startSupervisor()]);
        return;
      case "terminal":
        return await this.#killTerminal();
      case "everything":
        await Promise.all([at.tpManager?.end("SIGKILL"), at.supervisor?.end("SIGKILL")]);
        await this.#killTerminal();
        await Promise.all([at.startTpManager(), at.startSupervisor()]);
        return;
      case "sandbox":
        await at.sandbox?.end("SIGKILL");
        return await at.startSandbox();
    }
  }

  async #killTerminal(): Promise<void> {
    const { at } = this.#site;
    this.#watch?.close();
    await at.killTerminal();
    await at.startTerminal();
    this.#watch = await WireWatch.open(this.#site.control);
  }

  async #hold(phase: string, command: Command): Promise<void> {
    const { control } = this.#site;
    const { control: of, oneWay } = wires[command] ?? {};
    const fault = { name: "hold", at: phase, ms: HOLD_MS, ...(oneWay ? {} : { command: of }) };
    await this.#site.post(`${control}/faults`, fault);
  }

  async #gatewayFault(kind: string): Promise<void> {
    const delay = kind === "latency" ? { delayMs: 150 } : {};
    await this.#site.post(`${this.#site.at.sandboxUrl}/sandbox/faults`, {
      kind,
      times: 1,
      ...delay,
    });
  }

  async #clearFaults(): Promise<void> {
    await fetch(`${this.#site.control}/faults`, { method: "DELETE" });
    await fetch(`${this.#site.at.sandboxUrl}/sandbox/faults`, { method: "DELETE" });
  }
}

function attackOf(plan: KillPlan, site: CrashSite): Attack {
  switch (plan.command) {
    case "sale":
      return new SaleAttack(site, plan);
    case "concert sale":
    case "caisse-ap sale":
      return new OneWaySaleAttack(site, plan);
    case "two-phase sale":
      return new TwoPhaseAttack(site, plan);
    case "reversal":
      return new ReversalAttack(site, plan);
    case "end of day":
      return new EndOfDayAttack(site, plan);
    case "housekeeping":
      return new HousekeepingAttack(site, plan);
    case "restore":
      return new RestoreAttack(site, plan);
    case "gateway confirm":
      return new GatewayAttack(site, plan, "confirm");
    case "gateway cancel":
      return new GatewayAttack(site, plan, "cancel");
    case "gateway refund":
      return new GatewayAttack(site, plan, "refund");
  }
}

function whereabouts(event: WireEvent | undefined, control: string | undefined): string {
  if (!event) return "before any message";
  const { what, command = "", phase = "", message = "", direction = "" } = event;
  if (command !== control) return "between commands";
  return what === "apdu" ? `${direction} ${message}` : `phase ${phase}`;
}
