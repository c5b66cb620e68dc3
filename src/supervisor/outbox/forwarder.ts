import { readStored } from "../../shared/transaction.ts";
import { faultTable } from "../gateway/fault-table.ts";
import { unsendable } from "../gateway/faults.ts";
import type { GatewayReply } from "../gateway/gateway-client.ts";
import type { ClaimedItem } from "./item-rows.ts";
import { OrderInquiry, type SendingParts } from "./order-inquiry.ts";
import type { EndedTry } from "./outbox-store.ts";
import { QueueWindow } from "./queue-window.ts";
import { type Decision, decide, parseRetryAfter } from "./retry-policy.ts";
import { uncertainAfterSend } from "./uncertain-send-policy.ts";
import { pauseMs, takeOut, WorkLoop } from "./work-loop.ts";

/** The largest number of simultaneous tries outside the queue; other new items join the queue. */
const IMMEDIATE_TRIES_MAX = 4;
/** The most waits for further answers before one commit records all answers that have come. */
const SOCKET_WAITS_MAX = 30;

interface Ended extends GatewayReply {
  readonly item: ClaimedItem;
  /** The number of the try among the queue's tries; null: the try was made outside the queue. */
  readonly queueNumber: number | null;
  readonly tryNumber: number;
}
type Decided = Ended & EndedTry & { readonly decision: Decision };

/**
 * Sends the items of the outbox. The queue tries due items, the longest due first, a few at the
 * same time (queue-window.ts); a new item is tried once at once, outside the queue. The fault table
 * and the retry policy decide what a failure means; this class carries the decision out.
 *
 *   stored and claimed ●  ───────┐
 *                                ├─▶ gateway ─▶ ended ─▶ decide ─┐
 *   due ─────────────▶ claim ●  ─┘                               │ one commit for
 *           ▲          └────────────────── record ● ◀────────────┘ all that ended
 *           └─────────────────────────────────┘
 *
 * An order whose answer was lost is looked up before it is sent again (order-inquiry.ts).
 *
 * One commit records all results that arrive together and claims the items that are sent next, so
 * that under load the disk syncs once for several transactions.
 */
export class Forwarder {
  readonly #parts: SendingParts;
  readonly #window: QueueWindow;
  readonly #inquiry: OrderInquiry;
  readonly #loop: WorkLoop;
  readonly #abandon = new AbortController();
  readonly #slot: number;
  #immediateTries = 0;
  #queueBegun = 0;
  /** The `queueNumber` of each try that is not recorded yet; an array is faster than a Set here. */
  readonly #queueTries: number[] = [];
  #ended: Ended[] = [];
  #recording: Promise<void> | undefined;

  constructor(parts: SendingParts) {
    this.#parts = parts;
    this.#slot = parts.random();
    this.#window = new QueueWindow(parts.clock, parts.log);
    this.#loop = new WorkLoop(parts.clock, "next try", () => this.#step());
    this.#inquiry = new OrderInquiry(parts, {
      sendsFail: () => this.#window.failures > 0,
      wake: () => this.#loop.wake(),
    });
  }

  /** Why the queue sends nothing, for an operator; null: the queue is not paused. */
  get paused(): string | null {
    return this.#window.paused;
  }

  /** The faults that stop the queue or make requests fail until an operator corrects them. */
  get conditions() {
    return { ...this.#window.conditions, lookupRefused: this.#inquiry.refused };
  }

  /** Records the tries of a process that died as interrupted; before the first message comes. */
  endInterrupted(): void {
    const { store, clock, log } = this.#parts;
    for (const transactionId of store.endInterruptedTries(clock.now())) {
      log.warn({ transactionId }, "the program ended in a send: the gateway may have the order");
    }
  }

  /** Starts the queue. */
  start(): void {
    this.#loop.start();
    this.#inquiry.start();
  }

  /**
   * Tries a new item once at once, outside the queue. While the queue is paused, or too many tries
   * run, the item waits until it is due. `claimed`: the item, if the commit that stored it has
   * claimed it already.
   */
  tryAtOnce(transactionId: string, claimed?: ClaimedItem): void {
    if (!claimed && !this.takesAtOnce) {
      this.#loop.wake();
      return;
    }
    const { store, clock } = this.#parts;
    const item = claimed ?? store.claim("one", clock.now(), transactionId);
    if (item) this.#begin(item, false); // no item: the queue has claimed it for a try already
  }

  get takesAtOnce(): boolean {
    const isFree = this.#immediateTries < IMMEDIATE_TRIES_MAX;
    return !this.#loop.isStopping && this.paused === null && isFree;
  }

  /** Ends a pause of the queue; if credentials are refused again, a new pause begins. */
  resume(): void {
    this.#window.resume();
    this.#loop.wake();
  }

  /** Tries an item now, although the queue may wait, because an operator requests it. */
  requeued(transactionId: string): void {
    this.resume();
    this.restored(transactionId);
  }

  /** Tries an item whose sale is charged after all, after a lookup if an answer was lost. */
  restored(transactionId: string): void {
    this.tryAtOnce(transactionId);
    this.#inquiry.wake();
  }

  /**
   * Stops the queue: running tries may end within `graceMs`, then they are abandoned. An abandoned
   * try whose request was written is recorded as one that may have reached the gateway.
   */
  async stop(graceMs: number): Promise<void> {
    const stopped = this.#loop.stop();
    const inquiry = this.#inquiry.stop();
    const timer = this.#parts.clock.startTimer("running tries", graceMs, () =>
      this.#abandon.abort(new Error("stopping")),
    );
    await stopped;
    timer.clear();
    await inquiry;
  }

  #step(): number {
    const { clock, store } = this.#parts;
    for (const one of this.#recordAndClaim()) this.#report(one);
    const { heldMs } = this.#window;
    const dueAtMs = heldMs > 0 || this.#isFull ? undefined : store.nextDueAtMs("send");
    return pauseMs(heldMs, dueAtMs, clock.now());
  }

  #begin(item: ClaimedItem, inQueue: boolean): void {
    const queueNumber = inQueue ? ++this.#queueBegun : null;
    if (queueNumber === null) this.#immediateTries += 1;
    else this.#queueTries.push(queueNumber);
    const tryNumber = this.#window.begin();
    this.#loop.track(
      this.#send(item).then((reply) => {
        this.#ended.push({ item, queueNumber, tryNumber, ...reply });
        if (this.#recording !== undefined) return;
        this.#recording = this.#record();
        this.#loop.track(this.#recording);
      }),
    );
  }

  /** Records finished tries; reads answers in sockets first, as one commit for all is faster. */
  async #record(): Promise<void> {
    // A try that ran alone is recorded at once, because a payment may wait for it.
    const isAlone = this.#immediateTries + this.#queueTries.length === 1;
    for (let waits = 0; waits < SOCKET_WAITS_MAX; waits++) {
      await (isAlone ? undefined : new Promise((resolve) => setImmediate(resolve)));
      if (this.#ended.length >= this.#queueTries.length) break;
    }
    this.#recording = undefined;
    const sent = this.#recordAndClaim();
    // Successes are logged later, so that a payment that waits for this try is answered first.
    if (this.#queueTries.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (const one of sent) this.#report(one);
    if (!this.#isFull) this.#loop.wake();
  }

  async #send(item: ClaimedItem): Promise<GatewayReply> {
    if (item.isReversed) return { verdict: unsendable("reversed at the terminal"), notes: [] };
    const transaction = item.transaction ?? readStored(item.content);
    if (!transaction) {
      return { verdict: unsendable("stored in a form that is not understood"), notes: [] };
    }
    return await this.#parts.gateway.generate(transaction, this.#abandon.signal);
  }

  /**
   * Records the finished tries and claims the next items in one commit, then begins their tries.
   * Logs the failures, and returns the tries that succeeded, which the caller logs.
   */
  #recordAndClaim(): Decided[] {
    const { store, watch, clock } = this.#parts;
    const wasPaused = this.paused !== null;
    const decided = this.#ended.splice(0).map((ended) => this.#decide(ended));
    const limit = this.#loop.isActive ? Math.max(this.#window.size - this.#taken, 0) : 0;
    const mayClaim = (): boolean => limit > 0 && store.nextDueAtMs("send") !== undefined;
    if (decided.length === 0 && !mayClaim()) return [];
    // During a pause, one try of the oldest item, due or not, shows whether sending works again.
    const which = this.paused === null ? "due" : "oldest";
    const claimed = store.endAndClaim(decided, { which, limit, nowMs: clock.now() });
    for (const { item } of decided) watch.notify(item.transactionId);
    const isSent = ({ decision }: Decided): boolean => decision.state === "sent";
    for (const one of decided) if (!isSent(one)) this.#report(one);
    if (decided.some(({ update }) => update.uncertain.lookUpNext)) this.#inquiry.wake();
    if (!wasPaused && this.paused !== null) watch.notifyAll();
    for (const item of claimed) this.#begin(item, true);
    return decided.filter(isSent);
  }

  /** How many tries count as running: all that began since the oldest try that is not recorded. */
  get #taken(): number {
    const [oldest] = this.#queueTries; // the list has the tries in the order in which they began
    return oldest === undefined ? 0 : this.#queueBegun - oldest + 1;
  }

  /** Whether the allowed number of tries runs; when one of them ends, the queue continues. */
  get #isFull(): boolean {
    return this.#window.heldMs === 0 && this.#taken >= this.#window.size;
  }

  #decide(ended: Ended): Decided {
    const { clock, random } = this.#parts;
    const { item, queueNumber, verdict, notes, tryNumber } = ended;
    const { number, startedAtMs } = item;
    const { fields, retryAfter, ...answer } = verdict;
    const { ambiguous, meaning } = faultTable[verdict.class];
    const nowMs = clock.now();
    const uncertain = uncertainAfterSend(verdict.class, item.uncertain, nowMs);
    const decision = decide(faultTable[verdict.class], item.history, {
      nowMs,
      queueFailures: this.#window.failures,
      retryAfterMs: parseRetryAfter(retryAfter, nowMs),
      resends: uncertain.resends,
      random,
      slot: this.#slot,
    });
    this.#window.learn(tryNumber, verdict, decision);
    if (this.#window.failures === 0) this.#inquiry.gatewayWorks();
    if (queueNumber === null) this.#immediateTries -= 1;
    else takeOut(this.#queueTries, queueNumber);
    const { state, itemDelayMs, history } = decision;
    const update = {
      state,
      nextTryAtMs: itemDelayMs > 0 ? nowMs + itemDelayMs : null,
      history,
      uncertain,
      redirectUrl: verdict.class === "sent" ? (fields.get("redirectUrl") ?? null) : null,
      reason: state === "parked" ? `${meaning}: ${verdict.description}` : null,
    };
    const attempt = { number, startedAtMs, endedAtMs: nowMs, ...answer, ambiguous, notes };
    return { ...ended, attempt, update, decision };
  }

  #report({ item, verdict, notes, decision: { state, itemDelayMs, queueHoldMs } }: Decided): void {
    const { log, store } = this.#parts;
    const { transactionId, orderId, number } = item;
    const { class: tryClass, httpStatus, code, description } = verdict;
    const about = { transactionId, orderId, try: number, class: tryClass };
    const changed = "data of the order that the gateway would refuse were changed or left out";
    if (notes.length > 0) log.warn({ ...about, notes }, changed);
    if (state === "sent") {
      log.info(about, "the gateway has received the order");
      return;
    }
    const { ambiguous, meaning } = faultTable[tryClass];
    const details = { ...about, httpStatus, code, description, ambiguous };
    if (tryClass === "other-answer") {
      log.error({ alarm: "gateway-answer-mismatch", ...details }, `${meaning}: ${description}`);
    }
    // Not parked: the gateway has named the order meanwhile, or the sale was reversed.
    if (state === "parked" && store.delivery(transactionId)?.state === "parked") {
      log.error({ alarm: "transaction-parked", ...details }, `parked for an operator: ${meaning}`);
    } else {
      log.warn({ ...details, itemDelayMs, queueHoldMs }, `sending an order failed: ${meaning}`);
    }
  }
}
