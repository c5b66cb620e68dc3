import { readStored } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
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

/** The most tries outside the queue at the same time; further new items wait for the queue. */
const IMMEDIATE_TRIES_MAX = 4;
/** How often the sockets are read before a commit: one commit for many answers is faster. */
const SOCKET_WAITS_MAX = 30;

/** A finished try. */
interface Ended extends GatewayReply {
  readonly item: ClaimedItem;
  /** The number of the try in the queue; null: the try was made outside the queue. */
  readonly queueNumber: number | null;
  /** The number that the window gave the try. */
  readonly tryNumber: number;
}
type Decided = Ended & EndedTry & { readonly decision: Decision };

/**
 * Sends what is in the outbox. The queue begins due items the longest due first, a few at the same
 * time (queue-window.ts); a new item gets one try at once outside the queue. The fault table and
 * the retry policy decide what a failure means; this class carries it out.
 *
 *   stored and claimed ●  ───────┐
 *                                ├─▶ gateway ─▶ ended ─▶ decide ─┐
 *   due ─────────────▶ claim ●  ─┘                               │ one commit for
 *           ▲          └────────────────── record ● ◀────────────┘ all that ended
 *           └─────────────────────────────────┘
 *
 * An order whose answer was lost is looked up before it is sent again (order-inquiry.ts).
 *
 * Results that come in together are recorded in one commit, and the same commit claims the items
 * that are sent next: under load the disk is asked once for several transactions.
 */
export class Forwarder {
  readonly #parts: SendingParts;
  readonly #window: QueueWindow;
  readonly #inquiry: OrderInquiry;
  readonly #loop: WorkLoop;
  readonly #abandon = new AbortController();
  /** The kiosk's own slot of each quarter of an hour, from 0 to 1. */
  readonly #slot: number;
  #immediateTries = 0;
  #queueBegun = 0;
  /** The queue's tries whose end is not recorded. A set would fill V8's old space in time. */
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

  /** Why nothing is being sent, for an operator; null when it is not paused. */
  get paused(): string | null {
    return this.#window.paused;
  }

  /** The faults that stop the queue, or let it fail until their cause is mended. */
  get conditions() {
    return { ...this.#window.conditions, lookupRefused: this.#inquiry.refused };
  }

  /** Ends the tries that a dead process had begun, and starts the queue. */
  start(): void {
    const { store, clock, log } = this.#parts;
    for (const transactionId of store.endInterruptedTries(clock.now())) {
      log.warn({ transactionId }, "the program ended during a try: the gateway may have the order");
    }
    this.#loop.start();
    this.#inquiry.start();
  }

  /**
   * Begins the one try that a new item gets at once, outside the queue. While the queue is paused,
   * or too many tries are running, the item waits until it is due instead. `claimed`: the item as
   * the commit that stored it has claimed it.
   */
  tryAtOnce(transactionId: string, claimed?: ClaimedItem): void {
    if (!claimed && !this.takesAtOnce) {
      this.#loop.wake();
      return;
    }
    const { store, clock } = this.#parts;
    const item = claimed ?? store.claim("one", clock.now(), transactionId);
    if (item) this.#begin(item, false); // else the queue was faster
  }

  /** Whether {@link tryAtOnce} begins a try now. */
  get takesAtOnce(): boolean {
    const isFree = this.#immediateTries < IMMEDIATE_TRIES_MAX;
    return !this.#loop.isStopping && this.paused === null && isFree;
  }

  /** Ends a pause of the queue at once; the next refusal of the credentials brings it back. */
  resume(): void {
    this.#window.resume();
    this.#loop.wake();
  }

  /** Tries an item now, whatever the queue waits for, because an operator asks for it. */
  requeued(transactionId: string): void {
    this.resume();
    this.tryAtOnce(transactionId);
    this.#inquiry.wake();
  }

  /**
   * Ends the queue: begins no try, lets those that run end within `graceMs` and abandons the rest.
   * An abandoned try whose request was written is recorded as ambiguous.
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

  /** Begins what is due; returns the pause before the next step. */
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

  /**
   * Records what has ended. Answers that lie in the sockets, or come in a moment, are read first,
   * so that one commit records them all: a commit for each would take longer.
   */
  async #record(): Promise<void> {
    for (let waits = 0; waits < SOCKET_WAITS_MAX; waits++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#ended.length >= this.#queueTries.length) break;
    }
    this.#recording = undefined;
    const sent = this.#recordAndClaim();
    // A caller that waits for this try is answered before its end is logged.
    if (this.#queueTries.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (const one of sent) this.#report(one);
    if (!this.#isFull) this.#loop.wake();
  }

  async #send(item: ClaimedItem): Promise<GatewayReply> {
    const transaction = item.transaction ?? readStored(item.content);
    if (!transaction) {
      return { verdict: unsendable("stored in a form that is not understood"), notes: [] };
    }
    return await this.#parts.gateway.generate(transaction, this.#abandon.signal);
  }

  /**
   * Records what has ended and claims what may begin, in one commit; then begins it. Returns the
   * tries that the gateway took, which are to be reported; failures are reported already.
   */
  #recordAndClaim(): Decided[] {
    const { store, watch, clock } = this.#parts;
    const wasPaused = this.paused !== null;
    const decided = this.#ended.splice(0).map((ended) => this.#decide(ended));
    const limit = this.#loop.isActive ? Math.max(this.#window.size - this.#taken, 0) : 0;
    const mayClaim = (): boolean => limit > 0 && store.nextDueAtMs("send") !== undefined;
    if (decided.length === 0 && !mayClaim()) return [];
    // While paused one try, of the oldest item, due or not, shows whether the queue can go on.
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

  /** How many places of the window are taken: one for each try since the oldest that runs. */
  get #taken(): number {
    const [oldest] = this.#queueTries; // in the order in which they began
    return oldest === undefined ? 0 : this.#queueBegun - oldest + 1;
  }

  /** Whether the window is full, so that the queue goes on at the end of a try. */
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
    const { log } = this.#parts;
    const { transactionId, orderId, number } = item;
    const { class: tryClass, httpStatus, code, description } = verdict;
    const about = { transactionId, orderId, try: number, class: tryClass };
    if (notes.length > 0) log.warn({ ...about, notes }, "the order's data had to be changed");
    if (state === "sent") {
      log.info(about, "the gateway has the order");
      return;
    }
    const { ambiguous, meaning } = faultTable[tryClass];
    const details = { ...about, httpStatus, code, description, ambiguous };
    if (tryClass === "other-answer") {
      raiseAlarm(log, "gateway-answer-mismatch", details, `${meaning}: ${description}`);
    }
    if (state === "parked") {
      raiseAlarm(log, "transaction-parked", details, `parked for an operator: ${meaning}`);
    } else {
      log.warn({ ...details, itemDelayMs, queueHoldMs }, `an order was not sent: ${meaning}`);
    }
  }
}
