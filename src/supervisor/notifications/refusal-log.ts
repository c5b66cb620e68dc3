import type { Clock } from "../../shared/time.ts";

const TOLD_EVERY_MS = 60_000;

/**
 * How often refusals are told: the first of a reason at once, then once a minute with their number.
 * Anybody may cause them, and a line for each would fill the disk.
 */
export class RefusalLog {
  readonly #clock: Clock;
  readonly #reasons = new Map<string, { toldMs: number; untold: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many are to be told now, this one included; 0: none. Reasons are few and fixed. */
  due(reason: string): number {
    const nowMs = this.#clock.monotonicMs();
    const { toldMs, untold } = this.#reasons.get(reason) ?? {
      toldMs: Number.NEGATIVE_INFINITY,
      untold: 0,
    };
    const isDue = nowMs - toldMs >= TOLD_EVERY_MS;
    const next = isDue ? { toldMs: nowMs, untold: 0 } : { toldMs, untold: untold + 1 };
    this.#reasons.set(reason, next);
    return isDue ? untold + 1 : 0;
  }
}
