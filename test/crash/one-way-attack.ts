import { until } from "../support/programs/child-program.ts";
import type { AttackResult } from "./attack.ts";
import { NEXT_SALE_MS } from "./crash-site.ts";
import type { Victim } from "./kill-plan.ts";
import { SaleAttack } from "./terminal-attacks.ts";
import type { Evidence } from "./verdict.ts";
import type { WireEvent } from "./wire-watch.ts";

/** Their death takes the terminal's result with it, or the ear for it. */
const takesResult: readonly Victim[] = ["terminal", "everything"];
const takesEar: readonly Victim[] = ["tp-manager", "both programs", "the kiosk's power"];

/**
 * A sale at a terminal that cannot be asked (docs/rules/25-one-way.md). An order may stay unknown
 * when nothing can report its result any more: the terminal has lost its power, the bare connection
 * that would have brought it is gone, or tp-manager died before the terminal had its request. An
 * operator settles it then, as the bank's statement has it.
 */
export class OneWaySaleAttack extends SaleAttack {
  /** The terminal has taken a request of this order, and has heard that its result arrived. */
  #isTaken = false;
  #isHeard = false;

  /** However the command before was disturbed, a sale is possible again. */
  override async prepare(): Promise<void> {
    await this.site.charged(`${this.orderId}-before`);
    await super.prepare();
  }

  override async settle(events: readonly WireEvent[]): Promise<{ mayRepeat: boolean }> {
    const isQuiet = async (): Promise<true | undefined> => (await this.site.quiet()) || undefined;
    await until("the terminal has reported its result", isQuiet, NEXT_SALE_MS);
    // Before the next sale shows on the same wire.
    this.#isTaken ||= events.some(({ what, phase }) => what === "phase" && phase === "accepted");
    this.#isHeard ||= hasReported(events);
    this.found = await this.site.known(this.orderId);
    if (this.found.status === "Unknown") {
      // A sale is made only when nothing is listened for any more.
      await this.site.charged(`${this.orderId}-next`);
      this.found = await this.site.known(this.orderId);
    }
    return { mayRepeat: this.found.status !== "Unknown" };
  }

  override async verdict(events: readonly WireEvent[]): Promise<AttackResult> {
    const result = await super.verdict(events);
    if (result.end !== "Unknown") return result;
    const charged = await this.site.balanceOf(this.amountMinor);
    const outcome = charged > 0 ? "charged" : "not_charged";
    const decision = { outcome, note: "the bank's statement" };
    const { one } = await this.site.asOperator("POST", `/payment/${this.orderId}/settle`, decision);
    const isSettled = one.status === (charged > 0 ? "Success" : "Failed");
    const broken = isSettled ? [] : [`an operator settles what stayed unknown: ${one.status}`];
    return {
      ...result,
      violations: [...result.violations, ...broken],
      atGatewayMinor: charged,
    };
  }

  protected override special(): Partial<Evidence> {
    const { victim } = this.plan;
    const isDeaf = takesEar.includes(victim) && (this.site.kind.isBare || !this.#isTaken);
    return { mayStayUnknown: takesResult.includes(victim) || isDeaf };
  }

  protected override hasHeard(): boolean {
    return this.#isHeard;
  }
}

/** The register has sent the ACK of a body of the terminal; without sessions it never does. */
function hasReported(events: readonly WireEvent[]): boolean {
  let isReported = false;
  return events.some(({ what, direction }) => {
    if (what === "body") isReported = direction === "out";
    if (what === "enq" || what === "eot") isReported = false;
    return what === "ack" && direction === "in" && isReported;
  });
}
