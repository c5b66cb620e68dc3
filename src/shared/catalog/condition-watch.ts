import type { Logger } from "../process/logger.ts";
import type { Clock, Timer } from "../time.ts";
import { type Condition, type ConditionName, saysSince } from "./conditions.ts";

export const CHECK_EVERY_MS = 10_000;
/** A trouble that ends sooner, a restart of the other program say, raises no alarm. */
export const ALARM_AFTER_MS = 60_000;
/** After a start the troubles of before need so long to show that they are still there. */
const OVER_AFTER_START_MS = 60_000;

interface WatchParts {
  /** Which program this is: each tells its own troubles only. */
  readonly by: "supervisor" | "tp-manager";
  readonly read: () => Condition[] | Promise<Condition[]>;
  readonly clock: Clock;
  /** An alarm in a line of it reaches the operator. */
  readonly log: Logger;
  /** The alarms of the troubles that are there; those of all others are over. */
  readonly onLooked?: (alarms: readonly string[]) => void;
}

/**
 * Looks again and again which troubles there are: one alarm when a trouble begins, none while it
 * lasts, one line of the log when it is over.
 */
export class ConditionWatch {
  readonly #parts: WatchParts;
  readonly #startedMs: number;
  /** When each was first seen, and whether it has been told. */
  readonly #present = new Map<ConditionName, { readonly seenMs: number; told: boolean }>();
  #timer: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.monotonicMs();
  }

  start(): void {
    if (this.#closed) return;
    this.#timer = this.#parts.clock.startTimer("look for troubles", CHECK_EVERY_MS, () => {
      this.#looking = this.look().finally(() => this.start());
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.clear();
    await this.#looking;
  }

  async look(): Promise<void> {
    const { by, read, clock, log, onLooked } = this.#parts;
    try {
      const troubles = (await read()).filter(({ row }) => row.by === by);
      if (this.#closed) return;
      for (const trouble of troubles) this.#begin(trouble);
      const names = new Set(troubles.map(({ name }) => name));
      if (clock.monotonicMs() - this.#startedMs < OVER_AFTER_START_MS) return;
      for (const name of this.#present.keys()) if (!names.has(name)) this.#end(name);
      onLooked?.(troubles.map(({ row }) => row.alarm));
    } catch (error) {
      log.warn({ err: error }, "troubles could not be looked for");
    }
  }

  #begin(trouble: Condition): void {
    const { clock, log } = this.#parts;
    const { name, row, sinceMs, count } = trouble;
    const nowMs = clock.monotonicMs();
    const state = this.#present.get(name) ?? { seenMs: nowMs, told: false };
    this.#present.set(name, state);
    const waitMs = row.by === "tp-manager" ? ALARM_AFTER_MS : 0;
    if (state.told || nowMs - state.seenMs < waitMs) return;
    state.told = true;
    const details = { trouble: name, sinceMs, count, todo: row.todo };
    if (row.raised === "on-the-spot") log.warn(details, trouble.says);
    else log.error({ alarm: row.alarm, ...details }, `${saysSince(trouble)} -> ${row.todo}`);
  }

  #end(name: ConditionName): void {
    this.#present.delete(name);
    this.#parts.log.info({ trouble: name }, "a condition is over");
  }
}
