import type { Clock, Timer } from "../../../src/shared/time.ts";

interface Pending extends Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
}

/** A clock that stands still until {@link TestClock.advance} moves it. */
export class TestClock implements Clock {
  #nowMs: number;
  #elapsedMs = 0;
  #started = 0;
  readonly #pending = new Set<Pending>();

  constructor(startMs = Date.UTC(2026, 0, 15, 12, 0, 0)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  startTimer(name: string, delayMs: number, fire: () => void): Timer {
    const dueMs = this.#elapsedMs + Math.max(delayMs, 0);
    const timer: Pending = {
      name,
      dueMs,
      order: this.#started++,
      fire,
      clear: () => this.#pending.delete(timer),
    };
    this.#pending.add(timer);
    return timer;
  }

  /** Names of the timers that are running, for tests that prove that no timer is left. */
  get running(): string[] {
    return [...this.#pending].map(({ name }) => name);
  }

  /**
   * Moves time on, firing what falls due in order and letting promises settle in between; no
   * further than to where something `isOver`.
   */
  async advance(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const endMs = this.#elapsedMs + ms;
    for (;;) {
      await settle();
      if (isOver()) return;
      const next = [...this.#pending]
        .filter(({ dueMs }) => dueMs <= endMs)
        .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
      if (!next) break;
      this.#move(next.dueMs);
      this.#pending.delete(next);
      next.fire();
    }
    this.#move(endMs);
    await settle();
  }

  /** Shifts the wall clock alone, as an administrator or a time server does. */
  jumpWallClock(ms: number): void {
    this.#nowMs += ms;
  }

  #move(toMs: number): void {
    this.#nowMs += toMs - this.#elapsedMs;
    this.#elapsedMs = toMs;
  }
}

/** Lets pending promise callbacks and already queued I/O callbacks run. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}
