import type { Logger } from "../../shared/logger.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import { type Transaction, transactionSchema } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarm.ts";
import { faultTable, unsendable, type Verdict, type Waits } from "../gateway/faults.ts";
import type { Gateway, GatewayReply } from "../gateway/gateway.ts";
import type { DeliveryWatch } from "./delivery-watch.ts";
import type { ClaimedItem, OutboxStore } from "./outbox-store.ts";
import {
  type Decision,
  decide,
  delayCeilingMs,
  PROBE_INTERVAL_MS,
  PROBE_RETRY_MS,
  parseRetryAfter,
} from "./retry-policy.ts";

/**
 * Tries outside the queue at the same time. More come when tp-manager hands over a backlog; the
 * runner takes those in their turn.
 */
export const IMMEDIATE_TRIES_MAX = 4;
/** The queue looks at the clock this often even if nothing falls due: clocks jump. */
export const RECHECK_MS = 60_000;

export interface ForwarderParts {
  readonly store: OutboxStore;
  readonly gateway: Gateway;
  readonly watch: DeliveryWatch;
  readonly clock: Clock;
  readonly log: Logger;
  /** From 0 (included) to 1 (excluded). */
  readonly chance: () => number;
}

/**
 * Sends what is in the outbox: one runner takes due items one after the other, the longest due
 * first, and new items get one try at once beside it. What a failure means is decided by the fault
 * table and the retry policy; this class only carries it out.
 *
 *   stored ──tryAtOnce──┐
 *   due ────runner──────┴─▶ claim ● ─▶ gateway ─▶ decide ─▶ record ● ─▶ tell who waits
 */
export class Forwarder {
  readonly #parts: ForwarderParts;
  readonly #running = new Set<Promise<void>>();
  readonly #abandon = new AbortController();
  #stopping = false;
  #immediateTries = 0;
  #wake = new AbortController();
  #paused: { readonly reason: string; readonly sinceMs: number } | null = null;
  /** While paused, the moment of the next probe; else of the end of the queue's wait. */
  #holdUntilMs = 0;
  #queueFailures = 0;
  /** The last class that was logged as a misconfiguration. */
  #misconfigured: string | null = null;

  constructor(parts: ForwarderParts) {
    this.#parts = parts;
  }

  /** Why nothing is being sent, for an operator; null when it is not paused. */
  get paused(): string | null {
    return this.#paused?.reason ?? null;
  }

  /** Settles the tries that a dead process left behind and starts the runner. */
  start(): void {
    const { store, clock, log } = this.#parts;
    for (const transactionId of store.endInterruptedTries(clock.now(), delayCeilingMs)) {
      log.warn({ transactionId }, "the last try was interrupted: the gateway may have the order");
    }
    this.#track(this.#run());
  }

  /**
   * The one try a new item gets at once, outside the queue. While the queue is paused, or too many
   * tries are running, the item waits for its turn instead.
   */
  tryAtOnce(transactionId: string): void {
    if (this.#stopping) return;
    if (this.#paused || this.#immediateTries >= IMMEDIATE_TRIES_MAX) {
      this.#wakeRunner();
      return;
    }
    const item = this.#parts.store.claim(transactionId, this.#parts.clock.now());
    if (!item) return; // the runner was faster
    this.#immediateTries += 1;
    this.#track(
      this.#try(item).finally(() => {
        this.#immediateTries -= 1;
        this.#wakeRunner();
      }),
    );
  }

  /** Ends a pause at once; the next refusal brings it back. */
  resume(): void {
    this.#gatewayWorks("resumed by an operator");
  }

  /** An operator wants an item tried now, whatever the queue waits for. */
  requeued(transactionId: string): void {
    this.resume();
    this.tryAtOnce(transactionId);
  }

  /**
   * Begins nothing new, lets running tries end within `graceMs` and abandons the others: those
   * already written are recorded as ambiguous.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#wakeRunner();
    const timer = this.#parts.clock.startTimer("running tries", graceMs, () =>
      this.#abandon.abort(new Error("stopping")),
    );
    await Promise.all(this.#running);
    timer.clear();
  }

  async #run(): Promise<void> {
    const { clock, store } = this.#parts;
    while (!this.#stopping) {
      const heldMs = this.#holdUntilMs - clock.monotonicMs();
      const item =
        heldMs > 0
          ? undefined
          : this.#paused
            ? store.claimOldest(clock.now())
            : store.claimNext(clock.now());
      if (item) await this.#try(item);
      else await this.#waitForWork(heldMs);
    }
  }

  async #waitForWork(heldMs: number): Promise<void> {
    const { clock, store } = this.#parts;
    const dueAtMs = store.nextDueAtMs();
    const dueMs = dueAtMs === undefined ? RECHECK_MS : dueAtMs - clock.now();
    const waitMs = heldMs > 0 ? heldMs : Math.min(Math.max(dueMs, 1), RECHECK_MS);
    this.#wake = new AbortController();
    await sleep(clock, "next try", waitMs, this.#wake.signal).catch(() => {
      // Woken early: there may be something to do.
    });
  }

  #wakeRunner(): void {
    this.#wake.abort();
  }

  /** A rejection is a fault of this program and ends it: nobody else looks at the promise. */
  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.then(() => this.#running.delete(work));
  }

  async #try(item: ClaimedItem): Promise<void> {
    const { verdict, notes } = await this.#send(item);
    const { clock, chance } = this.#parts;
    const nowMs = clock.now();
    const decision = decide(faultTable[verdict.class], item.history, {
      nowMs,
      queueFailures: this.#queueFailures,
      retryAfterMs: parseRetryAfter(verdict.retryAfter, nowMs),
      chance,
    });
    this.#record(item, verdict, notes, decision);
    this.#report(item, verdict, notes, decision);
    this.#steerQueue(verdict, decision);
    this.#parts.watch.tell(item.transactionId);
  }

  async #send(item: ClaimedItem): Promise<GatewayReply> {
    const transaction = readStored(item.content);
    if (!transaction) {
      return { verdict: unsendable("stored in a form that is not understood"), notes: [] };
    }
    return await this.#parts.gateway.generate(transaction, this.#abandon.signal);
  }

  #record(
    item: ClaimedItem,
    verdict: Verdict,
    notes: readonly string[],
    { state, itemDelayMs, history }: Decision,
  ): void {
    const endedAtMs = this.#parts.clock.now();
    const { httpStatus, code, description } = verdict;
    const { ambiguous, meaning } = faultTable[verdict.class];
    this.#parts.store.finish(
      item,
      {
        number: item.number,
        startedAtMs: item.startedAtMs,
        endedAtMs,
        class: verdict.class,
        httpStatus,
        code,
        description,
        ambiguous,
        notes,
      },
      {
        state,
        nextTryAtMs: itemDelayMs > 0 ? endedAtMs + itemDelayMs : null,
        history,
        redirectUrl: verdict.class === "sent" ? (verdict.fields.get("redirectUrl") ?? null) : null,
        reason: state === "parked" ? `${meaning}: ${description}` : null,
      },
    );
  }

  #report(
    item: ClaimedItem,
    verdict: Verdict,
    notes: readonly string[],
    { state, itemDelayMs, queueHoldMs }: Decision,
  ): void {
    const { log } = this.#parts;
    const { transactionId, orderId, number } = item;
    const { class: tryClass, httpStatus, code, description } = verdict;
    const about = { transactionId, orderId, try: number, class: tryClass };
    if (notes.length > 0) log.warn({ ...about, notes }, "the order was not sent as it was given");
    if (state === "sent") {
      log.info(about, "the gateway has the order");
      return;
    }
    const { ambiguous, meaning } = faultTable[tryClass];
    const details = { ...about, httpStatus, code, description, ambiguous };
    if (state === "parked") {
      raiseAlarm(log, "transaction-parked", details, `parked for an operator: ${meaning}`);
    } else {
      log.warn({ ...details, itemDelayMs, queueHoldMs }, `not sent: ${meaning}`);
    }
  }

  #steerQueue(verdict: Verdict, { itemDelayMs, queueHoldMs, pause }: Decision): void {
    const { action, waits } = faultTable[verdict.class];
    this.#reportMisconfiguration(verdict);
    if (pause) {
      this.#pause(verdict);
    } else if (action !== "retry") {
      // A result: the gateway works and knows us. A transaction that fits no field proves nothing.
      if (verdict.class !== "unsendable") this.#gatewayWorks("the gateway answers with results");
    } else {
      this.#hold(waits, queueHoldMs, itemDelayMs);
    }
  }

  #hold(waits: Waits, queueHoldMs: number, itemDelayMs: number): void {
    const nowMs = this.#parts.clock.monotonicMs();
    // Tries outside the queue that fail meanwhile say nothing new and make nobody wait longer.
    if (this.#holdUntilMs > nowMs) return;
    if (this.#paused) {
      // A probe takes the oldest item, due or not, so there is always a wait before the next one.
      this.#holdUntilMs = nowMs + Math.max(queueHoldMs, itemDelayMs, PROBE_RETRY_MS);
    } else if (waits === "queue" || waits === "both") {
      this.#queueFailures += 1;
      this.#holdUntilMs = nowMs + queueHoldMs;
    }
  }

  #reportMisconfiguration(verdict: Verdict): void {
    const { misconfigured, meaning } = faultTable[verdict.class];
    if (misconfigured && this.#misconfigured !== verdict.class) {
      const { class: tryClass, httpStatus, description } = verdict;
      const details = { class: tryClass, httpStatus, description };
      raiseAlarm(this.#parts.log, "gateway-misconfigured", details, meaning);
    }
    this.#misconfigured = misconfigured ? verdict.class : null;
  }

  #pause({ description }: Verdict): void {
    const { clock, log, watch } = this.#parts;
    const reason = `the gateway refuses GATEWAY_LOGIN and GATEWAY_PWD: ${description}`;
    this.#paused = { reason, sinceMs: this.#paused?.sinceMs ?? clock.now() };
    this.#holdUntilMs = clock.monotonicMs() + PROBE_INTERVAL_MS;
    raiseAlarm(
      log,
      "gateway-credentials-refused",
      { description, pausedSinceMs: this.#paused.sinceMs, nextProbeMs: PROBE_INTERVAL_MS },
      "nothing is sent: correct the credentials in config.txt and restart the supervisor",
    );
    watch.tellAll();
  }

  #gatewayWorks(why: string): void {
    if (this.#paused) this.#parts.log.info({ why }, "the queue goes on");
    this.#paused = null;
    this.#holdUntilMs = 0;
    this.#queueFailures = 0;
    this.#wakeRunner();
  }
}

/** The stored transaction; undefined when the file was damaged or written by another program. */
function readStored(content: string): Transaction | undefined {
  try {
    return transactionSchema.parse(JSON.parse(content));
  } catch {
    return undefined; // parked with an alarm by the caller
  }
}
