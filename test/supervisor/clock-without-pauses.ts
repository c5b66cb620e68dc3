import type { Clock } from "../../src/shared/time.ts";

/** The time of another clock; pauses, as those between two batches, are over at once. */
export const withoutPauses = (clock: Clock): Clock => ({
  now: () => clock.now(),
  monotonicMs: () => clock.monotonicMs(),
  startTimer: (name, _delayMs, fire) => {
    queueMicrotask(fire);
    return { name, clear: () => {} };
  },
});
