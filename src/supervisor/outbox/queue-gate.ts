import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import { faultTable, type Waits } from "../gateway/fault-table.ts";
import type { Verdict } from "../gateway/faults.ts";
import { type Decision, PROBE_INTERVAL_MS, PROBE_RETRY_MS } from "./retry-policy.ts";

/**
 * So many tries of the queue run at the same time, at most: enough that neither the way to the
 * gateway nor the disk is waited for with every single transaction.
 */
export const WINDOW_MAX = 8;
/** So many in a row must have been answered with a result before the window doubles. */
export const WINDOW_DOUBLES_AFTER = 8;

/** Certificate, redirect or denied access. */
interface Misconfigured {
  readonly reason: string;
  readonly sinceMs: number;
}

/**
 * Whether the queue may begin a try now, and how many at the same time.
 *
 * The queue begins one by one. While everything is answered with results the window doubles up to
 * {@link WINDOW_MAX}; any failure makes it one again, so that a gateway in trouble, or back from
 * it, meets a single try and never the whole queue.
 */
export class QueueGate {
  readonly #clock: Clock;
  readonly #log: Logger;
  #paused: { readonly reason: string; readonly sinceMs: number } | null = null;
  /** While paused, the moment of the next probe; else of the end of the queue's wait. */
  #holdUntilMs = 0;
  #failures = 0;
  #resultsInARow = 0;
  /** Tries so far, and how many of them had begun when nothing more could begin. */
  #begun = 0;
  #begunBeforeHold = 0;
  /** The fault that an operator has to set right, by the last answers. */
  #misconfigured: (Misconfigured & { readonly class: string }) | null = null;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Why nothing is being sent, for an operator; null when it is not paused. */
  get paused(): string | null {
    return this.#paused?.reason ?? null;
  }

  get pausedSinceMs(): number | null {
    return this.#paused?.sinceMs ?? null;
  }

  get misconfigured(): Misconfigured | null {
    const { reason = "", sinceMs = 0 } = this.#misconfigured ?? {};
    return this.#misconfigured && { reason, sinceMs };
  }

  /** Failures of the gateway as a whole, in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** How long nothing may begin, in milliseconds; 0: now. */
  get heldMs(): number {
    return Math.max(this.#holdUntilMs - this.#clock.monotonicMs(), 0);
  }

  /** How many tries may run now, at least 1 unless the queue is held. */
  get window(): number {
    if (this.heldMs > 0) return 0;
    if (this.#paused) return 1;
    return Math.min(WINDOW_MAX, 2 ** Math.floor(this.#resultsInARow / WINDOW_DOUBLES_AFTER));
  }

  /** A try begins. Its number is needed when it has ended. */
  begin(): number {
    this.#begun += 1;
    return this.#begun;
  }

  /** Takes the meaning of the numbered try for the ones that follow. */
  learn(number: number, verdict: Verdict, { itemDelayMs, queueHoldMs, pause }: Decision): void {
    const { action, waits } = faultTable[verdict.class];
    this.#reportMisconfiguration(verdict);
    if (pause) this.#pause(verdict);
    else if (action === "retry") this.#hold(waits, queueHoldMs, itemDelayMs);
    // A transaction that fits no field proves nothing.
    else if (verdict.class !== "unsendable") this.#works(number);
  }

  /** An operator ends a pause at once; the next refusal brings it back. */
  resume(): void {
    this.#open("resumed by an operator");
  }

  #works(number: number): void {
    // This try was under way when another one met the trouble: its end says nothing about now.
    if (number <= this.#begunBeforeHold) return;
    // A result: the gateway works and knows us.
    this.#open("the gateway answers with results");
    this.#resultsInARow += 1;
  }

  #open(why: string): void {
    if (this.#paused) this.#log.info({ why }, "the queue goes on");
    this.#paused = null;
    this.#holdUntilMs = 0;
    this.#failures = 0;
  }

  #hold(waits: Waits, queueHoldMs: number, itemDelayMs: number): void {
    this.#resultsInARow = 0;
    // Tries that were under way meanwhile say nothing new and make nobody wait longer.
    if (this.heldMs > 0) return;
    const nowMs = this.#clock.monotonicMs();
    if (this.#paused) {
      this.#begunBeforeHold = this.#begun;
      // A probe takes the oldest item, due or not, so there is always a wait before the next one.
      this.#holdUntilMs = nowMs + Math.max(queueHoldMs, itemDelayMs, PROBE_RETRY_MS);
    } else if (waits === "queue" || waits === "both") {
      this.#failures += 1;
      this.#begunBeforeHold = this.#begun;
      this.#holdUntilMs = nowMs + queueHoldMs;
    }
  }

  #pause({ description }: Verdict): void {
    this.#resultsInARow = 0;
    // Of several that were under way one is enough to tell of.
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
      // No connection proves nothing; any answer shows that the former trouble is gone.
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
