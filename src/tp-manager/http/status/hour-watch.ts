import type { Logger } from "../../../shared/process/logger.ts";
import { Retrying } from "../../../shared/process/retrying.ts";
import { type Clock, DAY_MS } from "../../../shared/time.ts";
import type { TerminalArbiter } from "../../arbiter/terminal-arbiter.ts";
import type { DayRows, HourRow } from "../../journal/operator-rows.ts";

/** How often the connector checks whether it would accept a payment. */
const CHECK_MS = 15_000;
/** How often the hour's row is written; a process that is killed loses the counts since then. */
const WRITE_MS = 300_000;

interface HourWatchParts {
  readonly arbiter: TerminalArbiter;
  readonly days: DayRows;
  /** Returns how many transactions wait for the gateway. Rejects if the supervisor is silent. */
  readonly waiting: () => Promise<number>;
  /** For how many days the hours are stored (setting JOURNAL_DAYS). */
  readonly keptDays: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const nothing = { readyMs: 0, refusingMs: 0, noLinkMs: 0, waitingMax: null };

/**
 * Counts for each hour how long payments would have been accepted, and how many transactions waited
 * for the gateway (docs/design.md 5.18). No hour's row is written while a payment runs.
 */
export class HourWatch {
  readonly #parts: HourWatchParts;
  #counted: HourRow;
  /** The rows of earlier hours, until no payment runs and they are written. */
  #ended: HourRow[] = [];
  #checkedMs: number;
  #writtenMs: number;
  readonly #checks: Retrying;
  #asked: Promise<void> = Promise.resolve();
  #isWatching = false;

  constructor(parts: HourWatchParts) {
    const { clock } = parts;
    this.#parts = parts;
    this.#counted = { atMs: hourOf(clock.now()), ...nothing };
    this.#checkedMs = clock.monotonicMs();
    this.#writtenMs = this.#checkedMs;
    this.#checks = new Retrying(clock, "hours", async () => this.#check());
  }

  start(): void {
    this.#checkedMs = this.#parts.clock.monotonicMs();
    this.#isWatching = true;
    this.#asked = this.#ask();
    this.#checks.nudgeIn(CHECK_MS);
  }

  async close(): Promise<void> {
    await this.#checks.close();
    await this.#asked;
    this.#count();
    this.#isWatching = false;
    this.#write();
  }

  /** Returns the hours with the counts not written yet. Throws if the journal is unreadable. */
  hours(fromMs: number, untilMs: number): HourRow[] {
    const rows = this.#parts.days.hours(fromMs, untilMs);
    if (!this.#isWatching) return rows;
    this.#count();
    const byHour = new Map(rows.map((row) => [row.atMs, row]));
    for (const row of [...this.#ended, this.#counted]) {
      const { atMs } = row;
      if (atMs >= fromMs && atMs < untilMs) byHour.set(atMs, sumOf(byHour.get(atMs), row));
    }
    return [...byHour.values()];
  }

  /** Adds the time since the last check, writes the row if due, and returns the next pause (ms). */
  #check(): number {
    const { clock, arbiter } = this.#parts;
    this.#count();
    const isDue = this.#ended.length > 0 || clock.monotonicMs() - this.#writtenMs >= WRITE_MS;
    if (isDue && arbiter.lease.current === undefined) {
      this.#write();
      this.#asked = this.#ask();
    }
    return CHECK_MS;
  }

  /** Counts the time since the last check, at most two intervals, for the state found now. */
  #count(): void {
    const { clock, arbiter } = this.#parts;
    const nowMs = clock.monotonicMs();
    const passedMs = Math.round(Math.min(nowMs - this.#checkedMs, 2 * CHECK_MS));
    this.#checkedMs = nowMs;
    const [reason] = arbiter.notReadyReasons;
    const name = !reason
      ? "readyMs"
      : reason.code === "TERMINAL_DISCONNECTED"
        ? "noLinkMs"
        : "refusingMs";
    this.#counted = { ...this.#counted, [name]: this.#counted[name] + passedMs };
    const atMs = hourOf(clock.now());
    if (atMs === this.#counted.atMs) return;
    this.#ended.push(this.#counted);
    this.#counted = { atMs, ...nothing };
  }

  #write(): void {
    const { clock, days, keptDays, log } = this.#parts;
    const nowMs = clock.now();
    try {
      for (const row of this.#ended) {
        days.addHour(row, nowMs - keptDays * DAY_MS);
        this.#ended = this.#ended.slice(1);
      }
      days.addHour(this.#counted, nowMs - keptDays * DAY_MS);
      this.#counted = { atMs: hourOf(nowMs), ...nothing };
    } catch (error) {
      log.warn({ err: error }, "could not write the figures of the past hour to the journal");
    }
    this.#writtenMs = clock.monotonicMs();
  }

  async #ask(): Promise<void> {
    try {
      const waiting = await this.#parts.waiting();
      const waitingMax = Math.max(this.#counted.waitingMax ?? 0, waiting);
      this.#counted = { ...this.#counted, waitingMax };
    } catch (error) {
      const says = "the supervisor did not report its waiting transactions";
      this.#parts.log.debug({ err: error }, says);
    }
  }
}

/** Returns the sum of two rows of the same hour, added as in DayRows.addHour. */
function sumOf(written: HourRow | undefined, counted: HourRow): HourRow {
  if (!written) return counted;
  const counts = [written.waitingMax, counted.waitingMax].filter((count) => count !== null);
  return {
    atMs: counted.atMs,
    readyMs: written.readyMs + counted.readyMs,
    refusingMs: written.refusingMs + counted.refusingMs,
    noLinkMs: written.noLinkMs + counted.noLinkMs,
    waitingMax: counts.length > 0 ? Math.max(...counts) : null,
  };
}

function hourOf(ms: number): number {
  return new Date(ms).setMinutes(0, 0, 0);
}
