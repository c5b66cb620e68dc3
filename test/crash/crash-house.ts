import { sleep, systemClock } from "../../src/shared/time.ts";
import { until } from "../support/child-program.ts";
import { type Answer, TestInstallation } from "../support/installation.ts";
import { asSlow, PATIENCE_MS } from "../support/patience.ts";
import type { KillPlan, Victim } from "./kill-plan.ts";
import { type Evidence, violationsOf } from "./verdict.ts";
import { type WireEvent, WireWatch } from "./wire-watch.ts";

/** What became of one kill. JSON. */
export interface KillResult {
  readonly index: number;
  readonly victim: Victim;
  /** Where the terminal was: `0601 reported`, or "idle". */
  readonly where: string;
  /** How the order ended. */
  readonly end: string;
  readonly violations: readonly string[];
  /** Everything known about the order, when a sentence was broken. */
  readonly detail?: unknown;
}

interface Settled {
  readonly status: string;
  readonly kinds: string[];
  readonly attempts: unknown;
}

/** A kill whose moment never comes is done anyway. */
const MOMENT_LIMIT_MS = asSlow(1_500);
const HOLD_MS = 30;

/**
 * One installation of real processes that takes one sale after the other while its processes are
 * killed with -9 and started again.
 */
export class CrashHouse {
  readonly #at: TestInstallation;
  #watch: WireWatch | undefined;
  #amountMinor = 10_000;
  readonly #charged = new Map<string, number>();
  readonly #notCharged = new Set<string>();

  constructor(line: "tcp" | "pty") {
    const pace = { "customer-delay": 40, "host-delay": 20, reversal: 40, reboot: 200 };
    const timers = { ...pace, t2: 150, t3: 400, t4: 1_500 };
    this.#at = new TestInstallation({
      line,
      terminalSwitches: Object.entries(timers).flatMap(([name, ms]) => [`--${name}-ms`, `${ms}`]),
      config: {
        TEST_TIMERS: "yes",
        ZVT_T2_MS: 300,
        ZVT_T3_MS: 400,
        ZVT_T4_MS: 1_500,
        POLL_INTERVAL_MS: 500,
        RECOVERY_SILENCE_MS: 150,
        GATEWAY_WAIT: 300,
        GATEWAY_TIMEOUT: 1_000,
        LOG_LEVEL: "info",
      },
    });
  }

  /** Everything runs and one sale is made: the terminal has a last transaction. */
  async open(): Promise<void> {
    await this.#at.start();
    await this.#at.connected();
    this.#watch = await WireWatch.open(this.#control);
    await this.#at.firstPaid("seed");
  }

  async close(): Promise<void> {
    this.#watch?.close();
    await this.#at.stop();
  }

  /** One sale, one kill, recovery, comparison. */
  async kill(plan: KillPlan): Promise<KillResult> {
    const orderId = `order-${plan.index}`;
    this.#amountMinor += 100;
    const amountMinor = this.#amountMinor + (plan.declined ? 5 : 0);
    const ledgerBefore = (await this.#at.ledger()).entries.length;
    if (plan.moment.at === "hold") await this.#hold(plan.moment.phase);
    if (plan.gateway) await this.#gatewayFault(plan.gateway);

    const answers: Answer[] = [];
    const pay = async (): Promise<void> => {
      const answer = await this.#at.pay(amountMinor / 100, orderId).catch(() => undefined);
      if (answer) answers.push(answer);
    };
    const seen: WireEvent[] = [];
    const moment = this.#momentOf(plan, seen);
    const first = pay();
    await moment;
    const where = whereabouts(seen.at(-1));
    await this.#killAndStart(plan.victim);
    const repeat = plan.repeats === "at once" ? pay() : undefined;
    await Promise.all([first, repeat]);
    await this.#clearFaults();
    let found = await this.#settled(orderId);
    if (plan.repeats === "afterwards" && found.status !== "Unknown") {
      await pay();
      found = await this.#settled(orderId);
    }
    const entries = (await this.#at.ledger()).entries.slice(ledgerBefore);
    const evidence: Evidence = {
      amountMinor,
      movements: entries.filter((entry) => entry.amountMinor === amountMinor),
      answers,
      found: found.status,
      eventKinds: found.kinds,
      acknowledged: hasHeardAcknowledgement(seen),
    };
    if (found.status === "Success") this.#charged.set(orderId, amountMinor);
    else this.#notCharged.add(orderId);
    const { index, victim } = plan;
    const violations = violationsOf(evidence);
    const detail = { plan, movements: entries, attempts: found.attempts };
    const result = { index, victim, where, end: found.status, violations };
    return violations.length > 0 ? { ...result, detail } : result;
  }

  /** The third ledger: every charged order is at the gateway, and no other one. */
  async compareGateway(): Promise<string[]> {
    const missing = async (): Promise<string[]> => {
      const orders = await this.#orders();
      return [...this.#charged].flatMap(([orderId, amountMinor]) => {
        const found = orders.find((order) => order.merchantReference === orderId);
        return found && Math.round(Number(found.amount) * 100) === amountMinor ? [] : [orderId];
      });
    };
    const all = async (): Promise<true | undefined> =>
      (await missing()).length === 0 ? true : undefined;
    await until("every charged order is at the gateway", all).catch(() => {});
    const lost = await missing();
    const wrong = (await this.#orders()).filter(({ merchantReference }) =>
      this.#notCharged.has(merchantReference),
    );
    return [
      ...lost.map((orderId) => `a charged order reaches the gateway: ${orderId} did not`),
      ...wrong.map(
        ({ merchantReference }) =>
          `only charged orders reach the gateway: ${merchantReference} did`,
      ),
    ];
  }

  get #control(): string {
    return this.#at.terminalEndpoints?.control ?? "";
  }

  async #orders() {
    return await this.#at.orders();
  }

  /** Resolves when the moment of the kill has come. */
  #momentOf({ moment }: KillPlan, seen: WireEvent[]): Promise<void> {
    return new Promise((resolve) => {
      const limit = systemClock.startTimer("moment", MOMENT_LIMIT_MS, resolve);
      const now = (afterMs: number): void => {
        limit.clear();
        if (afterMs === 0) resolve();
        else systemClock.startTimer("kill", afterMs, resolve);
      };
      let counted = 0;
      this.#watch?.listen((event) => {
        seen.push(event);
        if (moment.at === "event" && counted++ === moment.number) now(moment.delayMs);
        if (moment.at === "hold" && event.phase === moment.phase) now(HOLD_MS / 2);
      });
      if (moment.at === "time") now(moment.afterMs);
    });
  }

  async #killAndStart(victim: Victim): Promise<void> {
    const at = this.#at;
    switch (victim) {
      case "tp-manager":
        await at.tpManager?.end("SIGKILL");
        return await at.startTpManager();
      case "supervisor":
        await at.supervisor?.end("SIGKILL");
        return await at.startSupervisor();
      case "both programs":
        await Promise.all([at.tpManager?.end("SIGKILL"), at.supervisor?.end("SIGKILL")]);
        await Promise.all([at.startTpManager(), at.startSupervisor()]);
        return;
      case "terminal":
        this.#watch?.close();
        await at.terminal?.end("SIGKILL");
        await at.startTerminal();
        this.#watch = await WireWatch.open(this.#control);
        return;
      case "sandbox":
        await at.sandbox?.end("SIGKILL");
        return await at.startSandbox();
    }
  }

  /**
   * Asks for the order until nothing runs and nothing is in doubt that can be proved. On a serial
   * line a terminal whose report was acknowledged by the link but never answered waits for the
   * answer as long as field 01 of the authorisation says, at least 10 s, before the terminal
   * reverses and is idle again (docs/zvt.md 8.2). Only then can anybody ask it.
   */
  async #settled(orderId: string): Promise<Settled> {
    const deadlineMs = systemClock.monotonicMs() + PATIENCE_MS;
    for (;;) {
      const answer = await this.#at.call("GET", `/payment/${orderId}`).catch(() => undefined);
      const { status, error } = answer?.one ?? {};
      const { attempts = [] } = (answer?.one ?? {}) as {
        attempts?: Array<{ events: Array<{ kind: string; because?: string }> }>;
      };
      const kinds = attempts.flatMap(({ events }) =>
        events.map(({ kind, because }) => (because ? `${kind}: ${because}` : kind)),
      );
      if (error?.code === "ORDER_NOT_FOUND") {
        return { status: "never begun", kinds, attempts };
      }
      const open = status === undefined || status === "Unknown";
      if (!open && (await this.#quiet())) return { status, kinds, attempts };
      if (systemClock.monotonicMs() > deadlineMs) {
        return { status: status ?? "Unknown", kinds, attempts };
      }
      await sleep(systemClock, "settled", 40);
    }
  }

  /** The terminal is idle: an automatic reversal would be over. */
  async #quiet(): Promise<boolean> {
    const state = (await (await fetch(`${this.#control}/state`)).json()) as { running: unknown };
    return state.running === null;
  }

  async #hold(phase: string): Promise<void> {
    await this.#post(`${this.#control}/faults`, { name: "hold", at: phase, ms: HOLD_MS });
  }

  async #gatewayFault(kind: string): Promise<void> {
    const delay = kind === "latency" ? { delayMs: 150 } : {};
    await this.#post(`${this.#at.sandboxUrl}/sandbox/faults`, { kind, times: 1, ...delay });
  }

  async #clearFaults(): Promise<void> {
    await fetch(`${this.#control}/faults`, { method: "DELETE" });
    await fetch(`${this.#at.sandboxUrl}/sandbox/faults`, { method: "DELETE" });
  }

  async #post(url: string, body: object): Promise<void> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
  }
}

/** The terminal got 80 00 for a report of the payment. */
function hasHeardAcknowledgement(seen: readonly WireEvent[]): boolean {
  let reported = false;
  return seen.some(({ what, command, direction, message = "" }) => {
    if (what !== "apdu" || command !== "0601") return false;
    if (direction === "out") reported = message.startsWith("040f");
    return direction === "in" && reported && message.startsWith("8000");
  });
}

function whereabouts(event: WireEvent | undefined): string {
  if (!event) return "before any message";
  const { command = "", phase = "", message = "", direction = "" } = event;
  if (command !== "0601") return "between commands";
  return message ? `${direction} ${message}` : `phase ${phase}`;
}
