import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { faultTable, type TryClass, type Waits } from "../gateway/fault-table.ts";
import type { Verdict } from "../gateway/faults.ts";
import { type Decision, PROBE_INTERVAL_MS, PROBE_RETRY_MS } from "./retry-policy.ts";

/** The largest number of simultaneous tries of the queue, enough to keep line and disk busy. */
export const WINDOW_MAX = 8;
/** After this many consecutive tries with a result, twice as many tries may run at once. */
const WINDOW_DOUBLES_AFTER = 8;

/**
 * Decides how many tries of the queue may run at the same time. The window begins with one try and
 * doubles up to {@link WINDOW_MAX} while the gateway answers every try with a result. A failure
 * makes the window one again, so that a failing gateway gets a single try, not the whole queue.
 */
export class QueueWindow {
  readonly #clock: Clock;
  readonly #log: AlarmLog;
  #paused: { readonly reason: string; readonly sinceMs: number } | null = null;
  /** When the queue's wait ends, on the monotonic clock; during a pause, when the next try is. */
  #holdUntilMs = 0;
  /** The number of consecutive failures of the gateway as a whole. */
  failures = 0;
  #resultsInARow = 0;
  #begun = 0;
  /** How many tries had begun when the queue last began to wait. */
  #begunBeforeHold = 0;
  /** The present fault of certificate, address or access, which an operator has to correct. */
  #misconfigured: { readonly class: TryClass; reason: string; sinceMs: number } | null = null;

  constructor(clock: Clock, log: AlarmLog) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Why the queue sends nothing, for an operator; null: the queue is not paused. */
  get paused(): string | null {
    return this.#paused?.reason ?? null;
  }

  get conditions() {
    const { reason = "", sinceMs = 0 } = this.#misconfigured ?? {};
    const misconfigured = this.#misconfigured && { reason, sinceMs };
    return { pausedSinceMs: this.#paused?.sinceMs ?? null, misconfigured };
  }

  /** How many milliseconds the queue still waits before it may begin a try. */
  get heldMs(): number {
    return Math.max(this.#holdUntilMs - this.#clock.monotonicMs(), 0);
  }

  /** The number of tries that may run now; 0: the queue waits. */
  get size(): number {
    if (this.heldMs > 0) return 0;
    if (this.#paused) return 1;
    return Math.min(WINDOW_MAX, 2 ** Math.floor(this.#resultsInARow / WINDOW_DOUBLES_AFTER));
  }

  /** Counts a try that begins, and returns its number for {@link learn}. */
  begin(): number {
    return ++this.#begun;
  }

  /** Decides from the outcome of a try whether and when further tries may begin. */
  learn(number: number, verdict: Verdict, { itemDelayMs, queueHoldMs, pause }: Decision): void {
    const { action, waits } = faultTable[verdict.class];
    this.#reportMisconfiguration(verdict);
    if (pause) this.#pause(verdict);
    else if (action === "retry") this.#hold(waits, queueHoldMs, itemDelayMs);
    // Only a sent request that began after another try's last failure proves the gateway to work.
    else if (verdict.class !== "unsendable" && number > this.#begunBeforeHold) {
      this.#open("the gateway answers with results");
      this.#resultsInARow += 1;
    }
  }

  resume(): void {
    this.#open("resumed by an operator");
  }

  #open(why: string): void {
    if (this.#paused) this.#log.info({ why }, "the outbox sends transactions again after a pause");
    this.#paused = null;
    this.#holdUntilMs = 0;
    this.failures = 0;
  }

  #hold(waits: Waits, queueHoldMs: number, itemDelayMs: number): void {
    this.#resultsInARow = 0;
    // Tries that already ran when the wait began do not lengthen the wait.
    if (this.heldMs > 0) return;
    const nowMs = this.#clock.monotonicMs();
    if (this.#paused) {
      this.#begunBeforeHold = this.#begun;
      // During a pause only the oldest item is tried, due or not; the queue waits between tries.
      this.#holdUntilMs = nowMs + Math.max(queueHoldMs, itemDelayMs, PROBE_RETRY_MS);
    } else if (waits === "queue" || waits === "both") {
      this.failures += 1;
      this.#begunBeforeHold = this.#begun;
      this.#holdUntilMs = nowMs + queueHoldMs;
    }
  }

  #pause({ description }: Verdict): void {
    this.#resultsInARow = 0;
    // Several simultaneous tries with refused credentials raise one alarm.
    if (this.#paused && this.heldMs > 0) return;
    this.#begunBeforeHold = this.#begun;
    const reason = `the gateway refuses GATEWAY_LOGIN and GATEWAY_PWD: ${description}`;
    this.#paused = { reason, sinceMs: this.#paused?.sinceMs ?? this.#clock.now() };
    this.#holdUntilMs = this.#clock.monotonicMs() + PROBE_INTERVAL_MS;
    const { sinceMs: pausedSinceMs } = this.#paused;
    const details = { description, pausedSinceMs, nextProbeMs: PROBE_INTERVAL_MS };
    const todo = "correct the credentials in config.txt and restart the supervisor";
    this.#log.error(
      { alarm: "gateway-credentials-refused", ...details },
      `nothing is sent: ${todo}`,
    );
  }

  #reportMisconfiguration(verdict: Verdict): void {
    const { misconfigured, meaning } = faultTable[verdict.class];
    const { class: tryClass, httpStatus, description } = verdict;
    if (!misconfigured) {
      // An answer of another kind shows that the fault is gone; a failed connection shows nothing.
      if (httpStatus !== null) this.#misconfigured = null;
      return;
    }
    if (this.#misconfigured?.class === tryClass) return;
    const sinceMs = this.#misconfigured?.sinceMs ?? this.#clock.now();
    this.#misconfigured = { class: tryClass, reason: `${meaning}: ${description}`, sinceMs };
    const details = { class: tryClass, httpStatus, description };
    this.#log.error({ alarm: "gateway-misconfigured", ...details }, meaning);
  }
}
