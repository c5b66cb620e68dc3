import type { Logger } from "../../shared/process/logger.ts";
import { type Clock, sleep } from "../../shared/time.ts";
import { readStored } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { OrderFinding } from "../gateway/lookup.ts";
import type { DeliveryWatch } from "./delivery-watch.ts";
import { decideLook, type LookDecision, lookHoldMs, SENDS_OF_FIRST_DAY } from "./doubt-policy.ts";
import type { ClaimedItem, OutboxStore } from "./outbox-store.ts";
import { parseRetryAfter, SHARED_HOLD_CAP_MS } from "./retry-policy.ts";

/** Lookups at the same time; one alone while the gateway does not answer them. */
const LOOKUPS_MAX = 4;
const RECHECK_MS = 60_000;

/** The lookup refuses our credentials. */
interface Refused {
  readonly reason: string;
  readonly sinceMs: number;
}

interface InquiryParts {
  readonly store: OutboxStore;
  readonly gateway: Pick<Gateway, "findOrder">;
  readonly watch: DeliveryWatch;
  readonly clock: Clock;
  readonly log: Logger;
  readonly chance: () => number;
  /** The last send, too, was not answered with a result: the gateway as a whole is in trouble. */
  readonly sendsFail: () => boolean;
  /** A lookup has ended with an item that may be sent again. */
  readonly onSendable: () => void;
}

/**
 * Looks up the orders whose answer was lost (docs/design.md 8.5), beside the queue and with places
 * of its own, so that a lookup never holds up an order. The doubt policy decides the meaning of
 * an answer; this class only carries it out.
 */
export class OrderInquiry {
  readonly #parts: InquiryParts;
  readonly #running = new Set<Promise<void>>();
  readonly #abandon = new AbortController();
  #started = false;
  #stopping = false;
  /** Since when no lookup was answered, and the end of the wait for the next one. */
  #silentSinceMs: number | null = null;
  #holdUntilMs = 0;
  readonly #place: number;
  /** By the last lookup that was answered at all. */
  #refused: Refused | null = null;
  #wake = new AbortController();

  constructor(parts: InquiryParts) {
    this.#parts = parts;
    this.#place = parts.chance();
  }

  get refused(): Refused | null {
    return this.#refused;
  }

  start(): void {
    this.#started = true;
    this.#track(this.#run());
  }

  /** There may be something to look up. */
  wake(): void {
    this.#wake.abort();
  }

  /** A send has got a result: what no lookup tells may be the trouble of one order. */
  gatewayWorks(): void {
    if (this.#heldMs <= SHARED_HOLD_CAP_MS) return;
    this.#holdUntilMs = this.#parts.clock.monotonicMs() + SHARED_HOLD_CAP_MS;
    this.wake();
  }

  /** Abandons the running lookups: nothing hangs on them. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#abandon.abort(new Error("stopping"));
    this.wake();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #run(): Promise<void> {
    const { clock, store } = this.#parts;
    while (!this.#stopping) {
      this.#begin();
      const full = this.#places() === 0;
      const dueAtMs = full ? undefined : store.nextDueAtMs("look");
      const dueMs = dueAtMs === undefined ? RECHECK_MS : dueAtMs - clock.now();
      const waitMs = this.#heldMs > 0 ? this.#heldMs : Math.min(Math.max(dueMs, 1), RECHECK_MS);
      this.#wake = new AbortController();
      await sleep(clock, "next lookup", waitMs, this.#wake.signal).catch(() => {
        // Woken early: there may be something to do.
      });
    }
  }

  get #heldMs(): number {
    return Math.max(this.#holdUntilMs - this.#parts.clock.monotonicMs(), 0);
  }

  #places(): number {
    if (!this.#started || this.#stopping || this.#heldMs > 0) return 0;
    const running = this.#running.size - 1; // without the loop
    return Math.max((this.#silentSinceMs === null ? LOOKUPS_MAX : 1) - running, 0);
  }

  #begin(): void {
    const { store, clock } = this.#parts;
    while (this.#places() > 0) {
      const item = store.claimToLook(clock.now());
      if (!item) return;
      this.#track(this.#look(item));
    }
  }

  /** A rejection is a fault of this program and ends it: nobody else looks at the promise. */
  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.then(() => {
      this.#running.delete(work);
      this.wake();
    });
  }

  async #look(item: ClaimedItem): Promise<void> {
    const { store, gateway, watch, clock, chance } = this.#parts;
    const transaction = readStored(item.content);
    // A damaged one is parked by its next try, which says so.
    const finding: OrderFinding = transaction
      ? await gateway.findOrder(transaction, this.#abandon.signal)
      : { kind: "absent" };
    // Its end tells nothing: the next start finds it begun, and begins it again.
    if (finding.kind === "untold" && this.#abandon.signal.aborted) return;
    const nowMs = clock.now();
    const retryAfter = finding.kind === "untold" ? finding.verdict.retryAfter : null;
    const retryAfterMs = parseRetryAfter(retryAfter, nowMs);
    const decision = decideLook(finding, item.doubt, { nowMs, retryAfterMs, chance });
    this.#learn(decision);
    this.#learnRefusal(finding, nowMs);
    this.#report(item, finding, decision);
    const { next, delayMs: waitMs, doubt } = decision;
    store.finishLook(item, {
      state: next === "sent" || next === "parked" ? next : "pending",
      nextTryAtMs: next === "look" ? nowMs + waitMs : null,
      doubt,
      reason: reasonOf(finding),
      endedAtMs: nowMs,
    });
    watch.tell(item.transactionId);
    if (next === "send") this.#parts.onSendable();
  }

  #learn({ trouble }: LookDecision): void {
    if (!trouble) {
      this.#silentSinceMs = null;
      this.#holdUntilMs = 0;
    } else if (this.#heldMs === 0) {
      const { chance, clock, sendsFail } = this.#parts;
      const nowMs = clock.monotonicMs();
      this.#silentSinceMs ??= nowMs;
      const holdMs = lookHoldMs(nowMs - this.#silentSinceMs, this.#place, chance);
      this.#holdUntilMs = nowMs + (sendsFail() ? holdMs : Math.min(holdMs, SHARED_HOLD_CAP_MS));
    }
  }

  #learnRefusal(finding: OrderFinding, nowMs: number): void {
    if (finding.kind !== "untold") this.#refused = null;
    else if (refusesUs(finding)) {
      const reason = finding.verdict.description;
      this.#refused = { reason, sinceMs: this.#refused?.sinceMs ?? nowMs };
    } else if (finding.verdict.httpStatus !== null) this.#refused = null;
  }

  /** Before the end is on disk: an alarm that is told twice is better than one that is lost. */
  #report(item: ClaimedItem, finding: OrderFinding, decision: LookDecision): void {
    const { log } = this.#parts;
    const { transactionId, orderId, doubt } = item;
    const { next, blind, delayMs: waitMs } = decision;
    const about = { transactionId, orderId, found: finding.kind, next };
    if (finding.kind === "other") {
      raiseAlarm(log, "transaction-parked", about, `parked for an operator: ${finding.why}`);
      return;
    }
    if (finding.kind !== "untold") {
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
      log.warn({ ...details, waitMs }, "the lookup of an order told nothing");
      return;
    }
    // Told when copies become possible, and again each day that it goes on.
    const again = doubt.resends > 0 && doubt.resends < SENDS_OF_FIRST_DAY - 1;
    const words = `sent again without a lookup: the gateway may have it ${doubt.orders + 1} times`;
    if (again) log.warn(details, words);
    else raiseAlarm(log, "gateway-order-ambiguous", details, words);
  }
}

function refusesUs({ verdict }: Extract<OrderFinding, { kind: "untold" }>): boolean {
  return verdict.httpStatus === 401 || verdict.httpStatus === 403;
}

/** Of an item that waits for an operator, or that a lookup has settled. */
function reasonOf(finding: OrderFinding): string | null {
  if (finding.kind === "ours") return "a lookup shows that the gateway has it";
  return finding.kind === "other" ? finding.why : null;
}
