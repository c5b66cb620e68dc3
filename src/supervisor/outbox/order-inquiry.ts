import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { readStored } from "../../shared/transaction.ts";
import type { Gateway } from "../gateway/gateway-client.ts";
import type { OrderFinding } from "../gateway/lookup.ts";
import type { DeliveryWatch } from "./delivery-watch.ts";
import type { ClaimedItem } from "./item-rows.ts";
import type { OutboxStore } from "./outbox-store.ts";
import { parseRetryAfter, SHARED_HOLD_CAP_MS } from "./retry-policy.ts";
import { decideLookup, lookupHoldMs, SENDS_OF_FIRST_DAY } from "./uncertain-send-policy.ts";
import { pauseMs, WorkLoop } from "./work-loop.ts";

/** The largest number of simultaneous lookups; only one runs while the gateway answers none. */
const LOOKUPS_MAX = 4;

/** What the queue (forwarder.ts) and the lookups both need; the queue passes it on whole. */
export interface SendingParts {
  readonly store: OutboxStore;
  readonly gateway: Gateway;
  readonly watch: DeliveryWatch;
  readonly clock: Clock;
  readonly log: AlarmLog;
  /** Returns a random number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
}

/** The queue of forwarder.ts: an interface, because forwarder.ts imports this file. */
interface Queue {
  /** Returns whether the queue's last send got no result because the gateway fails as a whole. */
  sendsFail(): boolean;
  wake(): void;
}

/**
 * Looks up the orders whose answer was lost (docs/design.md 8.5), independently of the queue's
 * tries, so that a lookup never delays an order. uncertain-send-policy.ts decides what an answer
 * means; this class carries the decision out.
 */
export class OrderInquiry {
  readonly #parts: SendingParts;
  readonly #queue: Queue;
  readonly #loop: WorkLoop;
  readonly #abandon = new AbortController();
  #lookups = 0;
  /** Since when no lookup was answered (monotonic clock); null: the last lookup was answered. */
  #silentSinceMs: number | null = null;
  /** Until when no lookup is made, on the monotonic clock. */
  #holdUntilMs = 0;
  readonly #slot: number;
  /** Why and since when the gateway's lookup refuses our credentials; null: it does not. */
  refused: { readonly reason: string; readonly sinceMs: number } | null = null;

  constructor(parts: SendingParts, queue: Queue) {
    this.#parts = parts;
    this.#queue = queue;
    this.#slot = parts.random();
    this.#loop = new WorkLoop(parts.clock, "next lookup", () => this.#begin());
  }

  start(): void {
    this.#loop.start();
  }

  /** Checks at once whether an order is due to be looked up. */
  wake(): void {
    this.#loop.wake();
  }

  /** Shortens the wait for the next lookup after a send has got a result. */
  gatewayWorks(): void {
    if (this.#heldMs <= SHARED_HOLD_CAP_MS) return;
    this.#holdUntilMs = this.#parts.clock.monotonicMs() + SHARED_HOLD_CAP_MS;
    this.wake();
  }

  /** Abandons the running lookups, on which no money depends. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#abandon.abort(new Error("stopping"));
    await stopped;
  }

  #begin(): number {
    const { clock, store } = this.#parts;
    while (this.#free > 0) {
      const item = store.claim("lookup", clock.now());
      if (!item) break;
      this.#lookups += 1;
      this.#loop.track(this.#lookUp(item), () => {
        this.#lookups -= 1;
        this.wake();
      });
    }
    const dueAtMs = this.#free === 0 ? undefined : store.nextDueAtMs("lookup");
    return pauseMs(this.#heldMs, dueAtMs, clock.now());
  }

  get #heldMs(): number {
    return Math.max(this.#holdUntilMs - this.#parts.clock.monotonicMs(), 0);
  }

  get #free(): number {
    if (!this.#loop.isActive || this.#heldMs > 0) return 0;
    return Math.max((this.#silentSinceMs === null ? LOOKUPS_MAX : 1) - this.#lookups, 0);
  }

  async #lookUp(item: ClaimedItem): Promise<void> {
    const { store, gateway, watch, clock, random } = this.#parts;
    const transaction = readStored(item.content);
    // A damaged item counts as not found and goes back to the queue, which then parks it.
    const finding: OrderFinding = transaction
      ? await gateway.findOrder(transaction, this.#abandon.signal)
      : { kind: "absent" };
    // An abandoned lookup proves nothing; the next start of the program repeats the lookup.
    if (finding.kind === "unanswered" && this.#abandon.signal.aborted) return;
    const nowMs = clock.now();
    const retryAfter = finding.kind === "unanswered" ? finding.verdict.retryAfter : null;
    const retryAfterMs = parseRetryAfter(retryAfter, nowMs);
    const decision = decideLookup(finding, item.uncertain, { nowMs, retryAfterMs, random });
    this.#learn(decision.silent);
    this.#learnRefusal(finding, nowMs);
    const { next, delayMs, uncertain } = decision;
    const update = {
      state: next === "sent" || next === "parked" ? next : ("pending" as const),
      nextTryAtMs: next === "look-up" ? nowMs + delayMs : null,
      uncertain,
      reason: reasonOf(finding),
    };
    store.endLookup(item, update, nowMs, (state) => this.#report(item, finding, decision, state));
    watch.notify(item.transactionId);
    if (next === "send") this.#queue.wake();
  }

  #learn(silent: boolean): void {
    if (!silent) {
      this.#silentSinceMs = null;
      this.#holdUntilMs = 0;
    } else if (this.#heldMs === 0) {
      const { random, clock } = this.#parts;
      const nowMs = clock.monotonicMs();
      this.#silentSinceMs ??= nowMs;
      const holdMs = lookupHoldMs(nowMs - this.#silentSinceMs, this.#slot, random);
      const isLong = this.#queue.sendsFail();
      this.#holdUntilMs = nowMs + (isLong ? holdMs : Math.min(holdMs, SHARED_HOLD_CAP_MS));
    }
  }

  #learnRefusal(finding: OrderFinding, nowMs: number): void {
    if (finding.kind !== "unanswered") this.refused = null;
    else if (refusesUs(finding)) {
      const reason = finding.verdict.description;
      this.refused = { reason, sinceMs: this.refused?.sinceMs ?? nowMs };
    } else if (finding.verdict.httpStatus !== null) this.refused = null;
  }

  /**
   * Logs the result of a lookup; an alarm is written in the same commit, so that it is not lost.
   * `state`: the item's new state, which a notification or a reversal during the lookup decides.
   */
  #report(
    item: ClaimedItem,
    finding: OrderFinding,
    decision: ReturnType<typeof decideLookup>,
    state: DeliveryState | undefined,
  ): void {
    const { log } = this.#parts;
    const { transactionId, orderId, uncertain } = item;
    const { next, blind, delayMs: waitMs } = decision;
    const about = { transactionId, orderId, found: finding.kind, next };
    if (finding.kind === "other" && state === "parked") {
      const what = `parked for an operator: ${finding.why}`;
      log.error({ alarm: "transaction-parked", ...about }, what);
      return;
    }
    if (finding.kind !== "unanswered") {
      log.info(about, "a lookup at the gateway showed whether the gateway has the order");
      return;
    }
    const { class: tryClass, httpStatus, description } = finding.verdict;
    const details = { ...about, class: tryClass, httpStatus, description };
    if (refusesUs(finding)) {
      const refused = { class: tryClass, httpStatus, description };
      const what = `the gateway refuses the lookup of orders: ${description}`;
      log.error({ alarm: "gateway-lookup-refused", ...refused }, what);
    }
    if (!blind || state !== "pending") {
      log.warn({ ...details, waitMs }, "the gateway did not answer the lookup of an order");
      return;
    }
    // The alarm is raised with the first send that may make a duplicate, and again each day.
    const isRepeated = uncertain.resends > 0 && uncertain.resends < SENDS_OF_FIRST_DAY - 1;
    const times = uncertain.orders + 1;
    const text = `sent again without a lookup: the gateway may have it ${times} times`;
    if (isRepeated) log.warn(details, text);
    else log.error({ alarm: "gateway-order-ambiguous", ...details }, text);
  }
}

function refusesUs({ verdict }: Extract<OrderFinding, { kind: "unanswered" }>): boolean {
  return verdict.httpStatus === 401 || verdict.httpStatus === 403;
}

/** Returns why the result of a lookup parks or settles an item; null: the item goes on waiting. */
function reasonOf(finding: OrderFinding): string | null {
  if (finding.kind === "ours") return "a lookup shows that the gateway has it";
  return finding.kind === "other" ? finding.why : null;
}
