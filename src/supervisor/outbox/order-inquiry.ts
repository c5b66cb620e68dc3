import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { readStored } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import type { Gateway } from "../gateway/gateway-client.ts";
import type { OrderFinding } from "../gateway/lookup.ts";
import type { DeliveryWatch } from "./delivery-watch.ts";
import type { ClaimedItem } from "./item-rows.ts";
import type { OutboxStore } from "./outbox-store.ts";
import { parseRetryAfter, SHARED_HOLD_CAP_MS } from "./retry-policy.ts";
import {
  decideLookup,
  type LookupDecision,
  lookupHoldMs,
  SENDS_OF_FIRST_DAY,
} from "./uncertain-send-policy.ts";
import { pauseMs, WorkLoop } from "./work-loop.ts";

/** Lookups at the same time; one alone while the gateway does not answer them. */
const LOOKUPS_MAX = 4;

export interface SendingParts {
  readonly store: OutboxStore;
  readonly gateway: Gateway;
  readonly watch: DeliveryWatch;
  readonly clock: Clock;
  readonly log: Logger;
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
}

interface Queue {
  /** Whether the last send, too, got no result: the gateway as a whole fails. */
  sendsFail(): boolean;
  /** A lookup has ended with an item that may be sent again. */
  wake(): void;
}

/**
 * Looks up the orders whose answer was lost (docs/design.md 8.5), with slots of its own next to
 * those of the queue, so that a lookup never holds up an order. The policy for uncertain sends
 * decides the meaning of an answer; this class carries it out.
 */
export class OrderInquiry {
  readonly #parts: SendingParts;
  readonly #queue: Queue;
  readonly #loop: WorkLoop;
  readonly #abandon = new AbortController();
  #lookups = 0;
  /** Since when no lookup was answered, and the end of the wait for the next one. */
  #silentSinceMs: number | null = null;
  #holdUntilMs = 0;
  /** The kiosk's own slot of each quarter of an hour, from 0 to 1. */
  readonly #slot: number;
  #refused: { readonly reason: string; readonly sinceMs: number } | null = null;

  constructor(parts: SendingParts, queue: Queue) {
    this.#parts = parts;
    this.#queue = queue;
    this.#slot = parts.random();
    this.#loop = new WorkLoop(parts.clock, "next lookup", () => this.#begin());
  }

  /** How the last lookup that was answered at all refused our credentials; null: it did not. */
  get refused(): { readonly reason: string; readonly sinceMs: number } | null {
    return this.#refused;
  }

  start(): void {
    this.#loop.start();
  }

  /** There may be something to look up. */
  wake(): void {
    this.#loop.wake();
  }

  /** A send has got a result: what no lookup answers may be the fault of one order. */
  gatewayWorks(): void {
    if (this.#heldMs <= SHARED_HOLD_CAP_MS) return;
    this.#holdUntilMs = this.#parts.clock.monotonicMs() + SHARED_HOLD_CAP_MS;
    this.wake();
  }

  /** Abandons the running lookups: no money depends on them. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#abandon.abort(new Error("stopping"));
    await stopped;
  }

  /** Begins the lookups that are due; returns the pause before the next ones. */
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
    // A damaged one is parked by its next try, which says so.
    const finding: OrderFinding = transaction
      ? await gateway.findOrder(transaction, this.#abandon.signal)
      : { kind: "absent" };
    // An abandoned lookup proves nothing: the next start finds it begun, and begins it again.
    if (finding.kind === "unanswered" && this.#abandon.signal.aborted) return;
    const nowMs = clock.now();
    const retryAfter = finding.kind === "unanswered" ? finding.verdict.retryAfter : null;
    const retryAfterMs = parseRetryAfter(retryAfter, nowMs);
    const decision = decideLookup(finding, item.uncertain, { nowMs, retryAfterMs, random });
    this.#learn(decision);
    this.#learnRefusal(finding, nowMs);
    this.#report(item, finding, decision);
    const { next, delayMs, uncertain } = decision;
    const update = {
      state: next === "sent" || next === "parked" ? next : ("pending" as const),
      nextTryAtMs: next === "look-up" ? nowMs + delayMs : null,
      uncertain,
      reason: reasonOf(finding),
    };
    store.endLookup(item, update, nowMs);
    watch.notify(item.transactionId);
    if (next === "send") this.#queue.wake();
  }

  #learn({ silent }: LookupDecision): void {
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
    if (finding.kind !== "unanswered") this.#refused = null;
    else if (refusesUs(finding)) {
      const reason = finding.verdict.description;
      this.#refused = { reason, sinceMs: this.#refused?.sinceMs ?? nowMs };
    } else if (finding.verdict.httpStatus !== null) this.#refused = null;
  }

  /** Before the end is on disk: an alarm that is raised twice is better than one that is lost. */
  #report(item: ClaimedItem, finding: OrderFinding, decision: LookupDecision): void {
    const { log } = this.#parts;
    const { transactionId, orderId, uncertain } = item;
    const { next, blind, delayMs: waitMs } = decision;
    const about = { transactionId, orderId, found: finding.kind, next };
    if (finding.kind === "other") {
      raiseAlarm(log, "transaction-parked", about, `parked for an operator: ${finding.why}`);
      return;
    }
    if (finding.kind !== "unanswered") {
      log.info(about, "an order whose answer was lost was looked up");
      return;
    }
    const { class: tryClass, httpStatus, description } = finding.verdict;
    const details = { ...about, class: tryClass, httpStatus, description };
    if (refusesUs(finding)) {
      const refused = { class: tryClass, httpStatus, description };
      raiseAlarm(log, "gateway-lookup-refused", refused, `the order lookup: ${description}`);
    }
    if (!blind) {
      log.warn({ ...details, waitMs }, "the lookup of an order gave no answer");
      return;
    }
    // The alarm comes when copies become possible, and again each day that it goes on.
    const isRepeated = uncertain.resends > 0 && uncertain.resends < SENDS_OF_FIRST_DAY - 1;
    const times = uncertain.orders + 1;
    const text = `sent again without a lookup: the gateway may have it ${times} times`;
    if (isRepeated) log.warn(details, text);
    else raiseAlarm(log, "gateway-order-ambiguous", details, text);
  }
}

function refusesUs({ verdict }: Extract<OrderFinding, { kind: "unanswered" }>): boolean {
  return verdict.httpStatus === 401 || verdict.httpStatus === 403;
}

/** Why an item waits for an operator, or was settled by a lookup. */
function reasonOf(finding: OrderFinding): string | null {
  if (finding.kind === "ours") return "a lookup shows that the gateway has it";
  return finding.kind === "other" ? finding.why : null;
}
