import type { AlarmLog } from "../process/logger.ts";
import { Retrying } from "../process/retrying.ts";
import type { Clock } from "../time.ts";
import { type Condition, type ConditionName, conditionText } from "./conditions.ts";

const CHECK_EVERY_MS = 10_000;
/** How long a condition must last to raise an alarm: longer than a program's restart takes. */
const ALARM_AFTER_MS = 60_000;
/** For so long after a start no condition is reported as ended: not all were checked yet. */
const OVER_AFTER_START_MS = 60_000;

interface WatchParts {
  /** The program that runs this watch; only conditions of this program are checked. */
  readonly by: "supervisor" | "tp-manager";
  readonly read: () => Condition[] | Promise<Condition[]>;
  readonly clock: Clock;
  readonly log: AlarmLog;
  /** Called after each check with the alarms of the present conditions; all other alarms ended. */
  readonly onChecked?: (alarms: readonly string[]) => void;
}

/**
 * Checks every {@link CHECK_EVERY_MS} which conditions are present. Logs one alarm when a condition
 * begins, nothing while it lasts, and one line when it is over.
 */
export class ConditionWatch {
  readonly #parts: WatchParts;
  readonly #startedMs: number;
  readonly #present = new Map<ConditionName, { readonly foundMs: number; alarmed: boolean }>();
  readonly #checks: Retrying;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#startedMs = parts.clock.monotonicMs();
    this.#checks = new Retrying(parts.clock, "check for conditions", () =>
      this.check().then(() => CHECK_EVERY_MS),
    );
  }

  start(): void {
    this.#checks.nudgeIn(CHECK_EVERY_MS);
  }

  close(): Promise<void> {
    return this.#checks.close();
  }

  async check(): Promise<void> {
    const { by, read, clock, log, onChecked } = this.#parts;
    try {
      const conditions = (await read()).filter(({ row }) => row.by === by);
      if (this.#checks.isClosed) return;
      for (const condition of conditions) this.#begin(condition);
      const names = new Set(conditions.map(({ name }) => name));
      if (clock.monotonicMs() - this.#startedMs < OVER_AFTER_START_MS) return;
      for (const name of this.#present.keys()) if (!names.has(name)) this.#end(name);
      onChecked?.(conditions.map(({ row }) => row.alarm));
    } catch (error) {
      log.warn({ err: error }, "could not check whether a lasting fault (condition) is present");
    }
  }

  #begin(condition: Condition): void {
    const { clock, log } = this.#parts;
    const { name, row, sinceMs, count } = condition;
    const nowMs = clock.monotonicMs();
    const state = this.#present.get(name) ?? { foundMs: nowMs, alarmed: false };
    this.#present.set(name, state);
    const waitMs = row.by === "tp-manager" ? ALARM_AFTER_MS : 0;
    if (state.alarmed || nowMs - state.foundMs < waitMs) return;
    state.alarmed = true;
    const details = { trouble: name, sinceMs, count, todo: row.todo };
    if (row.raised === "on-the-spot") log.warn(details, condition.says);
    else log.error({ alarm: row.alarm, ...details }, conditionText(condition));
  }

  #end(name: ConditionName): void {
    this.#present.delete(name);
    this.#parts.log.info({ trouble: name }, "a condition that hindered the kiosk has ended");
  }
}
