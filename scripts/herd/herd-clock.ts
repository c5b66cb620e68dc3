import type { Clock, Timer } from "../../src/shared/time.ts";

interface Waiting extends Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/** So much time passes at once for a thousand kiosks. */
const STEP_MS = 250;

/** A clock for many programs in one process: time stands still while anything can go on. */
export class HerdClock implements Clock {
  #nowMs = 0;
  readonly #due = new Map<number, Set<Waiting>>();

  now(): number {
    return Date.UTC(2026, 0, 15) + this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  startTimer(name: string, delayMs: number, fire: () => void): Timer {
    const dueMs = this.#nowMs + Math.max(delayMs, 0);
    const step = Math.max(Math.ceil(dueMs / STEP_MS), Math.floor(this.#nowMs / STEP_MS) + 1);
    const waiting: Waiting = {
      name,
      dueMs,
      fire,
      clear: () => this.#due.get(step)?.delete(waiting),
    };
    const others = this.#due.get(step) ?? new Set();
    this.#due.set(step, others.add(waiting));
    return waiting;
  }

  async run(toMs: number): Promise<void> {
    await settle();
    for (let step = Math.floor(this.#nowMs / STEP_MS) + 1; step * STEP_MS <= toMs; step++) {
      this.#nowMs = step * STEP_MS;
      const due = this.#due.get(step);
      this.#due.delete(step);
      if (!due || due.size === 0) continue;
      for (const { fire } of [...due].sort((a, b) => a.dueMs - b.dueMs)) fire();
      await settle();
    }
  }
}

/** Lets whatever the timers began come to its next wait. */
async function settle(): Promise<void> {
  for (let i = 0; i < 40; i++) await new Promise((resolve) => setImmediate(resolve));
}
