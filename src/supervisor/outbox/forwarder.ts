import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import { readStored } from "../../shared/transaction.ts";
import { raiseAlarm } from "../alarms/alarm.ts";
import { faultTable } from "../gateway/fault-table.ts";
import { unsendable } from "../gateway/faults.ts";
import type { Gateway, GatewayReply } from "../gateway/gateway.ts";
import type { DeliveryWatch } from "./delivery-watch.ts";
import { type Doubt, doubtAfterSend } from "./doubt-policy.ts";
import { OrderInquiry } from "./order-inquiry.ts";
import type { ClaimedItem, EndedTry, OutboxStore } from "./outbox-store.ts";
import { QueueGate } from "./queue-gate.ts";
import { type Decision, decide, delayCeilingMs, parseRetryAfter } from "./retry-policy.ts";

/**
 * Tries outside the queue at the same time. More come when tp-manager hands over a backlog; the
 * queue takes those in their turn.
 */
export const IMMEDIATE_TRIES_MAX = 4;
/** Looks at the sockets before what has come in is recorded: less than a commit takes. */
const LOOKS_MAX = 30;
/** The queue looks at the clock this often even if nothing falls due: clocks jump. */
const RECHECK_MS = 60_000;

interface ForwarderParts {
  readonly store: OutboxStore;
  readonly gateway: Gateway;
  readonly watch: DeliveryWatch;
  readonly clock: Clock;
  readonly log: Logger;
  /** From 0 (included) to 1 (excluded). */
  readonly chance: () => number;
}

interface Troubles extends Pick<QueueGate, "pausedSinceMs" | "misconfigured"> {
  readonly lookupRefused: OrderInquiry["refused"];
}

/** A finished try with the policy's decision about it. */
interface Ended extends GatewayReply {
  readonly item: ClaimedItem;
  /** Its number among those of the queue; null: a try outside the queue. */
  readonly place: number | null;
  /** Of the gate. */
  readonly tryNumber: number;
}

interface Decided extends Ended {
  readonly decision: Decision;
  readonly doubt: Doubt;
}

/**
 * Sends what is in the outbox. The queue begins due items the longest due first, a few at the same
 * time (queue-gate.ts); new items get one try at once beside it. The fault table and the retry
 * policy decide what a failure means; this class only carries it out.
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
 * that take their places: under load the disk is asked once for several transactions.
 */
export class Forwarder {
  readonly #parts: ForwarderParts;
  readonly #gate: QueueGate;
  readonly #inquiry: OrderInquiry;
  readonly #running: Promise<void>[] = [];
  readonly #abandon = new AbortController();
  readonly #place: number;
  #started = false;
  #stopping = false;
  #immediateTries = 0;
  /**
   * Tries of the queue so far; the numbers of those of which the end is not recorded yet. Lists in
   * place of sets: a set that lives long leaves table after table in V8's old space as it changes.
   */
  #queueBegun = 0;
  readonly #queueTries: number[] = [];
  #ended: Ended[] = [];
  #recording: Promise<void> | undefined;
  #wake: () => void = () => undefined;

  constructor(parts: ForwarderParts) {
    this.#parts = parts;
    this.#place = parts.chance();
    this.#gate = new QueueGate(parts.clock, parts.log);
    const sendsFail = () => this.#gate.failures > 0;
    this.#inquiry = new OrderInquiry({ ...parts, sendsFail, onSendable: () => this.#wakeQueue() });
  }

  /** Why nothing is being sent, for an operator; null when it is not paused. */
  get paused(): string | null {
    return this.#gate.paused;
  }

  /** Reasons that stop the queue, or would let it fail for ever, for `status`. */
  get troubles(): Troubles {
    const { pausedSinceMs, misconfigured } = this.#gate;
    return { pausedSinceMs, misconfigured, lookupRefused: this.#inquiry.refused };
  }

  /** Settles the tries that a dead process left behind and starts the queue. */
  start(): void {
    const { store, clock, log } = this.#parts;
    for (const transactionId of store.endInterruptedTries(clock.now(), delayCeilingMs)) {
      log.warn({ transactionId }, "the last try was interrupted: the gateway may have the order");
    }
    this.#started = true;
    this.#track(this.#run());
    this.#inquiry.start();
  }

  /**
   * The one try a new item gets at once, outside the queue. While the queue is paused, or too many
   * tries are running, the item waits for its turn instead. `taken`: in the commit that stored it.
   */
  tryAtOnce(transactionId: string, taken?: ClaimedItem): void {
    if (!taken && !this.takesAtOnce) {
      if (!this.#stopping) this.#wakeQueue();
      return;
    }
    const item = taken ?? this.#parts.store.claim(transactionId, this.#parts.clock.now());
    if (item) this.#begin(item, false); // else the queue was faster
  }

  /** Whether {@link tryAtOnce} begins a try now. */
  get takesAtOnce(): boolean {
    return !this.#stopping && this.paused === null && this.#immediateTries < IMMEDIATE_TRIES_MAX;
  }

  /** Ends a pause at once; the next refusal brings it back. */
  resume(): void {
    this.#gate.resume();
    this.#wakeQueue();
  }

  /** An operator wants an item tried now, whatever the queue waits for. */
  requeued(transactionId: string): void {
    this.resume();
    this.tryAtOnce(transactionId);
    this.#inquiry.wake();
  }

  /**
   * Begins nothing new, lets running tries end within `graceMs` and abandons the others: those
   * already written are recorded as ambiguous.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#wakeQueue();
    const inquiry = this.#inquiry.stop();
    const timer = this.#parts.clock.startTimer("running tries", graceMs, () =>
      this.#abandon.abort(new Error("stopping")),
    );
    // A try that ends adds the recording of its end.
    while (this.#running.length > 0) await Promise.all(this.#running);
    timer.clear();
    await inquiry;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      for (const one of this.#turn()) this.#report(one);
      await this.#waitForWork();
    }
  }

  async #waitForWork(): Promise<void> {
    const { clock, store } = this.#parts;
    const { heldMs } = this.#gate;
    const looks = heldMs === 0 && !this.#isFull;
    const dueAtMs = looks ? store.nextDueAtMs("send") : undefined;
    const dueMs = dueAtMs === undefined ? RECHECK_MS : dueAtMs - clock.now();
    const waitMs = heldMs > 0 ? heldMs : Math.min(Math.max(dueMs, 1), RECHECK_MS);
    // Ends of tries wake the queue: a signal that is made each time would cost more.
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = clock.startTimer("next try", waitMs, resolve);
    this.#wake = () => {
      timer.clear();
      resolve();
    };
    await promise;
  }

  #wakeQueue(): void {
    this.#wake();
  }

  /** A rejection is a fault of this program and ends it: nobody else looks at the promise. */
  #track(work: Promise<void>): void {
    this.#running.push(work);
    void work.then(() => takeOut(this.#running, work));
  }

  #begin(item: ClaimedItem, inQueue: boolean): void {
    const place = inQueue ? ++this.#queueBegun : null;
    if (place === null) this.#immediateTries += 1;
    else this.#queueTries.push(place);
    const tryNumber = this.#gate.begin();
    this.#track(
      this.#send(item).then((reply) => {
        this.#ended.push({ item, place, tryNumber, ...reply });
        if (this.#recording !== undefined) return;
        this.#recording = this.#record();
        this.#track(this.#recording);
      }),
    );
  }

  /**
   * Answers that lie in the sockets already, or come in a moment, come in first, so that one commit
   * takes them all: a commit for each alone would keep the others waiting longer than that.
   */
  async #record(): Promise<void> {
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#ended.length >= this.#queueTries.length) break;
    }
    this.#recording = undefined;
    const sent = this.#turn();
    // Who waits for this end is answered before it is logged and the queue looks for work.
    if (this.#queueTries.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (const one of sent) this.#report(one);
    if (!this.#isFull) this.#wakeQueue();
  }

  async #send(item: ClaimedItem): Promise<GatewayReply> {
    const transaction = item.transaction ?? readStored(item.content);
    if (!transaction) {
      return { verdict: unsendable("stored in a form that is not understood"), notes: [] };
    }
    return await this.#parts.gateway.generate(transaction, this.#abandon.signal);
  }

  /**
   * Records what has ended and claims what may begin, in one commit; then begins it. Returns what
   * the gateway has now, which is to be reported; what went wrong is reported already.
   */
  #turn(): Decided[] {
    const { store, watch, clock } = this.#parts;
    const wasPaused = this.paused !== null;
    const decided = this.#ended.splice(0).map((ended) => this.#decide(ended));
    const places = this.#places();
    // An end is written in any case; for nothing but a claim somebody has to wait.
    const mayClaim = (): boolean => places > 0 && store.nextDueAtMs("send") !== undefined;
    if (decided.length === 0 && !mayClaim()) return [];
    const nowMs = clock.now();
    // While paused one try, of the oldest item, due or not, shows whether the queue can go on.
    const which = this.paused === null ? "due" : "oldest";
    const claimed = store.turn(decided.map(tryOf(nowMs)), { which, places, nowMs });
    for (const { item } of decided) watch.tell(item.transactionId);
    const isSent = ({ decision }: Decided): boolean => decision.state === "sent";
    for (const one of decided) if (!isSent(one)) this.#report(one);
    if (decided.some(({ doubt }) => doubt.look)) this.#inquiry.wake();
    if (!wasPaused && this.paused !== null) watch.tellAll();
    for (const item of claimed) this.#begin(item, true);
    return decided.filter(isSent);
  }

  #places(): number {
    if (!this.#started || this.#stopping) return 0;
    return Math.max(this.#gate.window - this.#taken(), 0);
  }

  /**
   * Places of the window that are taken: those of all tries since the oldest that still runs. So a
   * slow one is overtaken by no more than the window holds beside it.
   */
  #taken(): number {
    const [oldest] = this.#queueTries; // in the order in which they began
    return oldest === undefined ? 0 : this.#queueBegun - oldest + 1;
  }

  /** With every place taken the next end of a try does whatever the queue could do. */
  get #isFull(): boolean {
    return this.#gate.heldMs === 0 && this.#taken() >= this.#gate.window;
  }

  #decide(ended: Ended): Decided {
    const { item, place, verdict, tryNumber } = ended;
    const nowMs = this.#parts.clock.now();
    const doubt = doubtAfterSend(verdict.class, item.doubt, nowMs);
    const decision = decide(faultTable[verdict.class], item.history, {
      nowMs,
      queueFailures: this.#gate.failures,
      retryAfterMs: parseRetryAfter(verdict.retryAfter, nowMs),
      resends: doubt.resends,
      chance: this.#parts.chance,
      place: this.#place,
    });
    this.#gate.learn(tryNumber, verdict, decision);
    if (this.#gate.failures === 0) this.#inquiry.gatewayWorks();
    if (place === null) this.#immediateTries -= 1;
    else takeOut(this.#queueTries, place);
    return { ...ended, decision, doubt };
  }

  #report({ item, verdict, notes, decision: { state, itemDelayMs, queueHoldMs } }: Decided): void {
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
    if (tryClass === "other-answer") {
      raiseAlarm(log, "gateway-answer-mismatch", details, `${meaning}: ${description}`);
    }
    if (state === "parked") {
      raiseAlarm(log, "transaction-parked", details, `parked for an operator: ${meaning}`);
    } else {
      log.warn({ ...details, itemDelayMs, queueHoldMs }, `not sent: ${meaning}`);
    }
  }
}

/** The part of a finished try that the store keeps. */
function tryOf(endedAtMs: number): (decided: Decided) => EndedTry {
  return ({ item, verdict, notes, doubt, decision: { state, itemDelayMs, history } }) => {
    const { class: tryClass, httpStatus, code, description } = verdict;
    const { ambiguous, meaning } = faultTable[tryClass];
    const attempt = {
      number: item.number,
      startedAtMs: item.startedAtMs,
      endedAtMs,
      class: tryClass,
      httpStatus,
      code,
      description,
      ambiguous,
      notes,
    };
    const update = {
      state,
      nextTryAtMs: itemDelayMs > 0 ? endedAtMs + itemDelayMs : null,
      history,
      doubt,
      redirectUrl: tryClass === "sent" ? (verdict.fields.get("redirectUrl") ?? null) : null,
      reason: state === "parked" ? `${meaning}: ${description}` : null,
    };
    return { item, attempt, update };
  };
}

function takeOut<T>(list: T[], one: T): void {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
}
