import { stat } from "node:fs";
import { type Clock, systemClock, type Timer } from "../../../src/shared/time.ts";

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
    let left = Math.max(Math.min(Math.ceil(delayMs / STEP_MIN_MS), STEPS_MAX), 1);
    const stepMs = delayMs / left;
    let isCleared = false;
    const step = (): Timer => systemClock.startTimer(name, stepMs, () => stat("/", onStep));
    const onStep = (): void => {
      if (isCleared) return;
      left -= 1;
      if (left === 0) fire();
      else timer = step();
    };
    let timer = step();
    const clear = (): void => {
      isCleared = true;
      timer.clear();
    };
    return { name, clear };
  },
};
