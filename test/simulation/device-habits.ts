import type { Clock } from "../../src/shared/time.ts";
import type { Spelling } from "./plan.ts";

/** How a terminal answers for a while, until it is healed or the time is over. */
export class DeviceHabits {
  readonly #clock: Pick<Clock, "monotonicMs">;
  notReportedUntilMs = 0;
  lockedUntilMs = 0;
  staleUntilMs = 0;
  /** How much later than usual it answers questions, and until when. */
  late: { readonly byMs: number; readonly untilMs: number } = { byMs: 0, untilMs: 0 };
  spells: { readonly as: Spelling; readonly untilMs: number } = { as: "full", untilMs: 0 };

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  get isSilent(): boolean {
    return this.#isBefore(this.notReportedUntilMs);
  }

  get isLocked(): boolean {
    return this.#isBefore(this.lockedUntilMs);
  }

  get isStale(): boolean {
    return this.#isBefore(this.staleUntilMs);
  }

  get lateByMs(): number {
    return this.#isBefore(this.late.untilMs) ? this.late.byMs : 0;
  }

  get spelling(): Spelling {
    return this.#isBefore(this.spells.untilMs) ? this.spells.as : "full";
  }

  heal(): void {
    this.notReportedUntilMs = 0;
    this.lockedUntilMs = 0;
    this.staleUntilMs = 0;
    this.late = { byMs: 0, untilMs: 0 };
    this.spells = { as: "full", untilMs: 0 };
  }

  #isBefore(untilMs: number): boolean {
    return this.#clock.monotonicMs() < untilMs;
  }
}
