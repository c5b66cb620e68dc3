import { systemClock } from "../../src/shared/time.ts";
import { asSlow } from "../support/clocks/patience.ts";
import { until } from "../support/programs/child-program.ts";
import type { Answer } from "../support/programs/installation.ts";
import type { Attack, AttackResult } from "./attack.ts";
import type { CrashSite, Settled } from "./crash-site.ts";
import { type KillPlan, wires } from "./kill-plan.ts";
import { balanceOf, type Evidence, violationsOf } from "./verdict.ts";
import type { WireEvent } from "./wire-watch.ts";

const DELIVERY_SECONDS = 2;
const PART_MINOR = 1_000;
/** A job that the terminal wants done is done within this time. */
const HOUSEKEEPING_MS = asSlow(30_000);

abstract class TerminalAttack implements Attack {
  readonly orderId: string;
  protected readonly site: CrashSite;
  protected readonly plan: KillPlan;
  protected readonly answers: Answer[] = [];
  protected amountMinor = 0;
  protected found: Settled = { status: "never begun", kinds: [], attempts: [] };

  constructor(site: CrashSite, plan: KillPlan) {
    this.site = site;
    this.plan = plan;
    this.orderId = `order-${plan.index}`;
  }

  abstract prepare(): Promise<void>;
  abstract ask(): Promise<void>;

  async settle(_events: readonly WireEvent[]): Promise<{ mayRepeat: boolean }> {
    this.found = await this.site.settled(this.orderId);
    return { mayRepeat: this.found.status !== "Unknown" };
  }

  async verdict(events: readonly WireEvent[]): Promise<AttackResult> {
    const { status, kinds, attempts } = this.found;
    const movements = await this.site.movementsOf(this.amountMinor);
    const evidence: Evidence = {
      worth: [this.amountMinor],
      movements,
      answers: this.answers,
      found: status,
      eventKinds: kinds,
      gotAck: this.hasHeard(events),
      ...this.special(),
    };
    const atGatewayMinor = status === "Success" ? balanceOf(movements) : 0;
    return {
      end: status,
      violations: violationsOf(evidence),
      detail: { plan: this.plan, movements, attempts },
      atGatewayMinor: status === "Reversed" ? null : atGatewayMinor,
    };
  }

  /** What is different from a plain sale. */
  protected special(): Partial<Evidence> {
    return {};
  }

  /** The terminal got our ACK of a report. */
  protected hasHeard(events: readonly WireEvent[]): boolean {
    return hasHeardAck(events, wires[this.plan.command]?.control);
  }

  protected async heard(asked: Promise<Answer>): Promise<Answer | undefined> {
    const answer = await asked.catch(() => undefined);
    if (answer) this.answers.push(answer);
    return answer;
  }
}

export class SaleAttack extends TerminalAttack {
  prepare(): Promise<void> {
    this.amountMinor = this.site.newAmount() + (this.plan.declined ? 5 : 0);
    return Promise.resolve();
  }

  async ask(): Promise<void> {
    await this.heard(this.site.at.pay(this.amountMinor / 100, this.orderId));
  }
}

/** Approved first, then charged for what came out. */
export class TwoPhaseAttack extends TerminalAttack {
  prepare(): Promise<void> {
    this.amountMinor = this.site.newAmount();
    return Promise.resolve();
  }

  async ask(): Promise<void> {
    const delivery = { withinSeconds: DELIVERY_SECONDS };
    const { at } = this.site;
    const asked = at.pay(this.amountMinor / 100, this.orderId, { delivery });
    const answer = await this.heard(asked);
    if (answer?.one.status !== "Approved" || this.plan.share === "no word") return;
    await this.heard(at.call("POST", "/delivery", { orderId: this.orderId, ...this.#goods() }));
  }

  protected override special(): Partial<Evidence> {
    if (this.plan.share !== "part") return {};
    // When the decision did not reach the terminal, the whole amount may stand; a warning says so.
    return { worth: [this.amountMinor - PART_MINOR, this.amountMinor] };
  }

  #goods(): object {
    const amount = (this.amountMinor - PART_MINOR) / 100;
    return this.plan.share === "part"
      ? { delivered: true, amount }
      : { delivered: this.plan.share === "all" };
  }
}

export class ReversalAttack extends TerminalAttack {
  async prepare(): Promise<void> {
    this.amountMinor = await this.site.charged(this.orderId);
  }

  async ask(): Promise<void> {
    await this.heard(this.site.at.call("POST", "/reversal", { orderId: this.orderId }));
  }

  protected override special(): Partial<Evidence> {
    return { reversalAsked: true, mayStayUnknown: this.#mayStayUnknown };
  }

  /** The terminal shows the sale, and has never shown a reversal (`stores-reversals`). */
  get #mayStayUnknown(): boolean {
    return this.found.kinds.some((kind) =>
      kind.endsWith("never showed a reversal as its last transaction"),
    );
  }

  override async verdict(events: readonly WireEvent[]): Promise<AttackResult> {
    const result = await super.verdict(events);
    const isOpen = result.end === "Unknown" && this.#mayStayUnknown;
    return isOpen ? { ...result, atGatewayMinor: null } : result;
  }
}

/** Afterwards the sale from before stands as it was. */
export class EndOfDayAttack extends TerminalAttack {
  async prepare(): Promise<void> {
    this.amountMinor = await this.site.charged(this.orderId);
  }

  async ask(): Promise<void> {
    await this.site.asOperator("POST", "/tlc").catch(() => undefined);
  }
}

/** The terminal wants a job done, and the connector does it by itself. */
export class HousekeepingAttack extends TerminalAttack {
  #late: string[] = [];

  async prepare(): Promise<void> {
    this.amountMinor = await this.site.charged(this.orderId);
  }

  async ask(): Promise<void> {
    const demand = { diagnosis: true };
    await this.site.post(`${this.site.control}/state`, { demand }).catch(() => undefined);
  }

  override async settle(events: readonly WireEvent[]): Promise<{ mayRepeat: boolean }> {
    const startedMs = systemClock.monotonicMs();
    const done = async (): Promise<true | undefined> => {
      const state = await fetch(`${this.site.control}/state`);
      const { demands } = (await state.json()) as { demands: readonly string[] };
      return demands.length === 0 || undefined;
    };
    await until("the terminal wants nothing any more", done, HOUSEKEEPING_MS).catch(() => {
      const waitedMs = Math.round(systemClock.monotonicMs() - startedMs);
      this.#late = [`what the terminal wants done is done: not within ${waitedMs} ms`];
    });
    return await super.settle(events);
  }

  override async verdict(events: readonly WireEvent[]): Promise<AttackResult> {
    const result = await super.verdict(events);
    return { ...result, violations: [...result.violations, ...this.#late] };
  }
}

/** The terminal got 80 00 for a report of the command. */
function hasHeardAck(events: readonly WireEvent[], control: string | undefined): boolean {
  let reported = false;
  return events.some(({ what, command, direction, message = "" }) => {
    if (what !== "apdu" || command !== control) return false;
    if (direction === "out") reported = message.startsWith("040f");
    return direction === "in" && reported && message.startsWith("8000");
  });
}
