import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import { faultTable, type TryClass, type Waits } from "../gateway/fault-table.ts";
import type { Verdict } from "../gateway/faults.ts";
import { type Decision, PROBE_INTERVAL_MS, PROBE_RETRY_MS } from "./retry-policy.ts";

/** The most tries of the queue at the same time: enough to keep the line and the disk busy. */
export const WINDOW_MAX = 8;
/** How many tries in a row with a result double the window. */
const WINDOW_DOUBLES_AFTER = 8;

/**
 * Decides whether the queue may begin a try now, and how many at the same time. The window begins
 * with one try and doubles up to {@link WINDOW_MAX} while all are answered with results. A failure
 * makes it one again, so that a gateway that fails, or has just come back, gets a single try and
 * never the whole queue.
 */
export class QueueWindow {
  readonly #clock: Clock;
  readonly #log: AlarmLog;
  #paused: { readonly reason: string; readonly sinceMs: number } | null = null;
  /** The end of the queue's wait by the steady clock; while paused, the time of the next try. */
  #holdUntilMs = 0;
  #failures = 0;
  #resultsInARow = 0;
  #begun = 0;
  /** How many tries had begun when the present wait of the queue began. */
  #begunBeforeHold = 0;
  /** The fault of certificate, address or access that an operator has to set right. */
  #misconfigured: { readonly class: TryClass; reason: string; sinceMs: number } | null = null;

  constructor(clock: Clock, log: AlarmLog) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Why nothing is being sent, for an operator; null when it is not paused. */
  get paused(): string | null {
    return this.#paused?.reason ?? null;
  }

  /** The faults of the queue, for the status. */
  get conditions() {
    const { reason = "", sinceMs = 0 } = this.#misconfigured ?? {};
    const misconfigured = this.#misconfigured && { reason, sinceMs };
    return { pausedSinceMs: this.#paused?.sinceMs ?? null, misconfigured };
  }

  /** How often the gateway as a whole has failed in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** How long nothing may begin, in milliseconds; 0: now. */
  get heldMs(): number {
    return Math.max(this.#holdUntilMs - this.#clock.monotonicMs(), 0);
  }

  /** How many tries may run now; 0: the queue waits. */
  get size(): number {
    if (this.heldMs > 0) return 0;
    if (this.#paused) return 1;
    return Math.min(WINDOW_MAX, 2 ** Math.floor(this.#resultsInARow / WINDOW_DOUBLES_AFTER));
  }

  /** Counts a try that begins, and returns its number for {@link learn}. */
  begin(): number {
    return ++this.#begun;
  }

  /** Decides by the end of a try whether and when others may begin. */
  learn(number: number, verdict: Verdict, { itemDelayMs, queueHoldMs, pause }: Decision): void {
    const { action, waits } = faultTable[verdict.class];
    this.#reportMisconfiguration(verdict);
    if (pause) this.#pause(verdict);
    else if (action === "retry") this.#hold(waits, queueHoldMs, itemDelayMs);
    // A transaction that could not be written as a request proves nothing about the gateway.
    // A try that ran when another one failed says nothing about the present.
    else if (verdict.class !== "unsendable" && number > this.#begunBeforeHold) {
      this.#open("the gateway answers with results");
      this.#resultsInARow += 1;
    }
  }

  /** Ends a pause, as an operator asks; the next refusal of the credentials brings it back. */
  resume(): void {
    this.#open("resumed by an operator");
  }

  #open(why: string): void {
    if (this.#paused) this.#log.info({ why }, "the queue sends again");
    this.#paused = null;
    this.#holdUntilMs = 0;
    this.#failures = 0;
  }

  #hold(waits: Waits, queueHoldMs: number, itemDelayMs: number): void {
    this.#resultsInARow = 0;
    // Further tries that ran when the wait began do not lengthen it.
    if (this.heldMs > 0) return;
    const nowMs = this.#clock.monotonicMs();
    if (this.#paused) {
      this.#begunBeforeHold = this.#begun;
      // The try in a pause takes the oldest item, due or not: without a wait it would be repeated.
      this.#holdUntilMs = nowMs + Math.max(queueHoldMs, itemDelayMs, PROBE_RETRY_MS);
    } else if (waits === "queue" || waits === "both") {
      this.#failures += 1;
      this.#begunBeforeHold = this.#begun;
      this.#holdUntilMs = nowMs + queueHoldMs;
    }
  }

  #pause({ description }: Verdict): void {
    this.#resultsInARow = 0;
    // Several tries that ran at the same time raise one alarm.
    if (this.#paused && this.heldMs > 0) return;
    this.#begunBeforeHold = this.#begun;
    const reason = `the gateway refuses GATEWAY_LOGIN and GATEWAY_PWD: ${description}`;
    this.#paused = { reason, sinceMs: this.#paused?.sinceMs ?? this.#clock.now() };
    this.#holdUntilMs = this.#clock.monotonicMs() + PROBE_INTERVAL_MS;
    raiseAlarm(
      this.#log,
      "gateway-credentials-refused",
      { description, pausedSinceMs: this.#paused.sinceMs, nextProbeMs: PROBE_INTERVAL_MS },
      "nothing is sent: correct the credentials in config.txt and restart the supervisor",
    );
  }

  #reportMisconfiguration(verdict: Verdict): void {
    const { misconfigured, meaning } = faultTable[verdict.class];
    const { class: tryClass, httpStatus, description } = verdict;
    if (!misconfigured) {
      // Any answer shows that the fault is gone; a missing connection shows nothing.
      if (httpStatus !== null) this.#misconfigured = null;
      return;
    }
    if (this.#misconfigured?.class === tryClass) return;
    const sinceMs = this.#misconfigured?.sinceMs ?? this.#clock.now();
    this.#misconfigured = { class: tryClass, reason: `${meaning}: ${description}`, sinceMs };
    const details = { class: tryClass, httpStatus, description };
    raiseAlarm(this.#log, "gateway-misconfigured", details, meaning);
  }
}
