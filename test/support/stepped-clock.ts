import { stat } from "node:fs/promises";
import { type Clock, sleep, systemClock } from "../../src/shared/time.ts";

const STEP_MIN_MS = 5;
const STEPS_MAX = 20;

/**
 * The system's clock, with timers that go in steps and do not make up for lost time. After a pause
 * in which another program had the processor, Node.js runs overdue timers before it reads what has
 * arrived meanwhile: a protocol timer of some milliseconds would end a dialogue in which nobody was
 * late. Here such a pause is one step, and no step ends before the threads of Node.js, which read
 * and write serial lines, have had their turn.
 */
export const steppedClock: Clock = {
  now: () => systemClock.now(),
  monotonicMs: () => systemClock.monotonicMs(),
  startTimer(name, delayMs, fire) {
    const over = new AbortController();
    const run = async (): Promise<void> => {
      const steps = Math.max(Math.min(Math.ceil(delayMs / STEP_MIN_MS), STEPS_MAX), 1);
      for (let step = 0; step < steps; step++) {
        await sleep(systemClock, name, delayMs / steps, over.signal);
        await stat("/");
        over.signal.throwIfAborted();
      }
      fire();
    };
    run().catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
    return { name, clear: () => over.abort() };
  },
};
