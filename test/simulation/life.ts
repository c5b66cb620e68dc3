import type { Clock, Timer } from "../../src/shared/time.ts";
import type { TestClock } from "../support/clocks/test-clock.ts";
import { Disk } from "./disk.ts";

/** One life of a process: its clock stands still and its disk is gone once it is dead. */
export class Life {
  readonly disk = new Disk();
  readonly clock: Clock;
  readonly timers = new Set<string>();
  #alive = true;

  /** `fell` gets what a timer threw: an uncaught exception ends a process. */
  constructor(world: TestClock, fell: (error: unknown) => void) {
    const running = this.timers;
    let count = 0;
    this.clock = {
      now: () => world.now(),
      monotonicMs: () => world.monotonicMs(),
      startTimer: (name, delayMs, fire): Timer => {
        const key = `${name} #${++count}`;
        running.add(key);
        const timer = world.startTimer(name, delayMs, () => {
          running.delete(key);
          if (!this.#alive) return;
          try {
            fire();
          } catch (error) {
            fell(error);
          }
        });
        return {
          name,
          clear: () => {
            running.delete(key);
            timer.clear();
          },
        };
      },
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  die(): void {
    this.#alive = false;
    this.disk.gone = true;
  }
}
