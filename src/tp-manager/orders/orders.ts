import { AppError, type Charged, errorTable } from "../../shared/catalog/errors.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { newId } from "../../shared/new-id.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { readOr } from "../../shared/read-or.ts";
import { type Clock, within } from "../../shared/time.ts";
import type { ArbiterSettings } from "../arbiter/arbiter-parts.ts";
import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import { storage } from "../attempts/failures.ts";
import {
  type Attempt,
  type AttemptStep,
  isCharged,
  isNotCharged,
  isPaying,
  type PaymentRequest,
} from "../attempts/payment.ts";
import { chargedOf, isInDoubt } from "../attempts/phase-table.ts";
import type { Journal } from "../journal/journal.ts";
import type { HandOff } from "../supervisor/hand-off.ts";
import type { StoreGuard } from "../supervisor/store-guard.ts";
import {
  admissionOf,
  asAnswered,
  assertDistinguishable,
  assertHolds,
  assertSameOrder,
  assertStillOpen,
  attemptThatDecided,
  differences,
  type RepeatMustMatch,
} from "./admission.ts";

export interface OrderSettings extends Pick<ArbiterSettings, "paymentTimeoutMs" | "prepareMs"> {
  /** The time in ms until the 504 beyond preparation and payment (docs/rules/06-timeout.md). */
  readonly graceMs: number;
  /** How long an answer to the kiosk waits for the first try to reach the gateway, in ms. */
  readonly gatewayWaitMs: number;
  readonly repeatMustMatch: RepeatMustMatch;
}

export interface PaymentResult {
  readonly attempt: Attempt;
  readonly delivery: DeliveryState | null;
  /** Whether the order was known already, so that this request sent nothing to the terminal. */
  readonly replayed: boolean;
  /** Until when the terminal is asked about an attempt in doubt, as the inquiries know it. */
  readonly askedUntilMs?: number | null | undefined;
  /** true: the request asked for no outcome, and the payment runs (docs/rules/11-unread.md). */
  readonly isRunning?: true;
  /** Warnings about this request, in addition to the warnings about the order. */
  readonly warnings?: readonly string[];
}

export interface FoundOrder extends PaymentResult {
  /** Every attempt of the order, the oldest first. */
  readonly attempts: ReadonlyArray<Attempt & { events: AttemptStep[] }>;
}

interface OrderParts {
  readonly journal: Journal;
  readonly arbiter: TerminalArbiter;
  readonly handOff: HandOff;
  readonly guard: StoreGuard;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: OrderSettings;
}

interface RunningOrder {
  readonly transactionId: string;
  readonly request: PaymentRequest;
  /** Resolves when the write-ahead record is on the disk. */
  readonly begun: Promise<Attempt>;
  readonly approved: Promise<Attempt>;
  readonly ended: Promise<Attempt>;
}

/**
 * Begins payments, limits how long their requests wait, and answers repeated orders by
 * docs/rules/36-repeated-order.md. A payment goes on when the request that began it ends.
 */
export class Orders {
  readonly #parts: OrderParts;
  readonly #answerMs: number;
  #running: RunningOrder | undefined;

  constructor(parts: OrderParts) {
    const { paymentTimeoutMs, graceMs } = parts.settings;
    this.#parts = parts;
    this.#answerMs = paymentTimeoutMs + graceMs;
  }

  /**
   * Pays a new order, or answers a known order. Resolves within the limits of the settings; rejects
   * with {@link AppError} when no payment was begun. `isAsync`: waits for no outcome and asks no
   * terminal; an order in doubt is answered as it is, and not paid.
   */
  async pay(request: PaymentRequest, isAsync = false): Promise<PaymentResult> {
    const lookup = this.#find(request.orderId);
    if (lookup !== undefined) await lookup;
    const late = this.#parts.arbiter.unmatched.lateReport(request.orderId);
    if (late !== undefined) {
      if (isAsync) this.#sure(this.decisive(request.orderId));
      else await this.#lateReport(request.orderId, late);
    }
    const result = await this.#admit(request, isAsync);
    return { ...result, warnings: differences(request, result.attempt) };
  }

  /**
   * Returns every attempt of an order with its events, the attempt that decides the order's status
   * (not always the last one, docs/rules/19-late.md), and what the gateway has of that attempt.
   */
  async lookUp(orderId: string): Promise<FoundOrder> {
    const { journal, arbiter } = this.#parts;
    const lookup = this.#find(orderId);
    if (lookup !== undefined) await lookup;
    const attempts = reading(() =>
      journal.attempts.ofOrder(orderId).map((attempt) => ({
        ...asAnswered(attempt, journal, arbiter),
        events: journal.attempts.events(attempt.transactionId),
      })),
    );
    const spoken = reading(() => journal.attempts.decisive(orderId));
    const latest = attempts.find((one) => one.transactionId === spoken?.transactionId);
    if (!latest) throw this.#notFound(orderId);
    return { ...(await this.result(this.#sure(latest), true, 0)), attempts };
  }

  /**
   * Returns the attempt that decides an order's status. Throws ORDER_NOT_FOUND, or PAYMENT_RUNNING
   * while the terminal is prepared for the order's first attempt.
   */
  decisive(orderId: string, mayBeDone = false): Attempt {
    const attempt = reading(() => this.#parts.journal.attempts.decisive(orderId), mayBeDone);
    if (!attempt) throw this.#notFound(orderId);
    return attempt;
  }

  /**
   * Returns the attempt that an operator settles: attempt `number`, else an attempt in doubt, else
   * the attempt that decides the order's status. Throws NOTHING_TO_SETTLE for an unknown number.
   */
  toSettle(orderId: string, number?: number): Attempt & { readonly events: AttemptStep[] } {
    const latest = this.decisive(orderId);
    const { attempts } = this.#parts.journal;
    const all = reading(() => attempts.ofOrder(orderId));
    const inDoubt = all.findLast(({ state }) => isInDoubt(state)) ?? latest;
    const chosen = number === undefined ? inDoubt : all.find((one) => one.number === number);
    if (!chosen) throw new AppError("NOTHING_TO_SETTLE", `The order has no attempt ${number}.`);
    return { ...chosen, events: reading(() => attempts.events(chosen.transactionId)) };
  }

  /**
   * Returns whether an order is charged; undefined for an unknown order. "unknown" while it is
   * being paid, and while the journal cannot be read or may lack it (docs/rules/34-journal-gap.md).
   */
  chargedOfOrder(orderId: string): Charged | undefined {
    try {
      const attempt = this.#parts.journal.attempts.decisive(orderId);
      if (attempt) return this.#unsureOf(attempt) ? "unknown" : chargedOf(attempt);
      const { charged } = this.#notFound(orderId);
      return charged === "no" ? undefined : charged;
    } catch {
      return "unknown";
    }
  }

  /**
   * Returns why an order recorded as not charged may be charged all the same: the terminal is being
   * prepared for another attempt of the order (docs/rules/10-charged.md), a journal restored since
   * then may lack its charge, or the terminal is being asked about a sale that can be the order's
   * (docs/rules/34-journal-gap.md, docs/rules/19-late.md).
   */
  #unsureOf(attempt: Attempt): AppError | undefined {
    const { transactionId, request } = attempt;
    const { orderId } = request;
    if (chargedOf(attempt) !== "no") return undefined;
    const running = this.#runningOf(orderId)?.transactionId ?? transactionId;
    const isOver = running === transactionId || this.#isRecordedAsNotCharged(running);
    if (!isOver) return new AppError("PAYMENT_RUNNING");
    if (this.#parts.guard.mayLackNewer(transactionId)) {
      return new AppError("STORES_DISAGREE", undefined, { charged: "unknown" });
    }
    return this.#lateReportOf(orderId);
  }

  /** Whether an attempt has ended without a charge; its request may not be answered yet. */
  #isRecordedAsNotCharged(transactionId: string): boolean {
    const attempt = reading(() => this.#parts.journal.attempts.read(transactionId));
    return attempt !== undefined && isNotCharged(attempt.state);
  }

  /** Returns the attempt; throws the error of {@link #unsureOf} instead. */
  #sure(attempt: Attempt): Attempt {
    const unsure = this.#unsureOf(attempt);
    if (unsure) throw unsure;
    return attempt;
  }

  #runningOf(orderId: string): RunningOrder | undefined {
    return this.#running?.request.orderId === orderId ? this.#running : undefined;
  }

  /** Returns the order of one of our transactions, also an archived one; undefined when unknown. */
  orderOfTransaction(transactionId: string): string | undefined {
    return readOr(undefined, () => this.#parts.journal.attempts.orderOf(transactionId));
  }

  /** Returns the attempt that decides the order's status, after a probe if it is in doubt. */
  async decisiveAfterProbe(orderId: string): Promise<Attempt> {
    const lookup = this.#find(orderId);
    if (lookup !== undefined) await lookup;
    const attempt = this.decisive(orderId);
    if (isInDoubt(attempt.state)) await this.#ask(attempt);
    const latest = this.decisive(orderId);
    return isNotCharged(latest.state) ? this.#sure(latest) : latest;
  }

  /** Notes that the kiosk has read the whole answer about an order (docs/rules/11-unread.md). */
  answerRead(orderId: string): void {
    reading(() => this.#parts.journal.answers.markAnswerDelivered(orderId));
  }

  /** Notes whether the kiosk got the answer about a charge completely (docs/rules/11-unread.md). */
  chargeAnswered(orderId: string, arrived: boolean): void {
    const { clock, journal } = this.#parts;
    const { answers } = journal;
    reading(() =>
      arrived ? answers.markChargeRead(orderId) : answers.markChargeUnread(orderId, clock.now()),
    );
  }

  /** Resolves with the answer to an order: an attempt and its delivery state at the gateway. */
  async result(read: Attempt, replayed: boolean, waitMs?: number): Promise<PaymentResult> {
    const { handOff, settings, journal, arbiter } = this.#parts;
    const { attempts, handOffs } = journal;
    const attempt = asAnswered(read, journal, arbiter);
    const { transactionId } = attempt;
    if (!isCharged(attempt.state)) {
      const delivery = reading(
        () => handOffs.handOff(transactionId)?.delivery ?? handOffs.archivedDelivery(transactionId),
        !replayed,
      );
      const askedUntilMs = arbiter.inquiries.untilMs(transactionId);
      return { attempt, delivery, replayed, askedUntilMs };
    }
    const delivery = await handOff.delivered(transactionId, waitMs ?? settings.gatewayWaitMs);
    // Read again, because a reversal may have come during the wait (docs/rules/08-finished.md).
    const now = reading(() => attempts.read(transactionId), !replayed) ?? attempt;
    return { attempt: now, delivery, replayed };
  }

  /** Looks up an order outside the journal while it has a gap; undefined: no lookup is needed. */
  #find(orderId: string): Promise<void> | undefined {
    return this.#runningOf(orderId) ? undefined : this.#parts.guard.find(orderId);
  }

  #notFound(orderId: string): AppError {
    if (this.#runningOf(orderId)) return new AppError("PAYMENT_RUNNING");
    return new AppError("ORDER_NOT_FOUND", undefined, {
      charged: this.#parts.guard.chargedOfUnknown(),
    });
  }

  /** Answers an order or begins it. `hasAsked`: this request has already probed the terminal. */
  #admit(request: PaymentRequest, isAsync: boolean, hasAsked = false): Promise<PaymentResult> {
    const { journal, arbiter, settings } = this.#parts;
    const { repeatMustMatch } = settings;
    const running = this.#runningOf(request.orderId);
    if (running) {
      assertSameOrder(request, running, "unknown", repeatMustMatch);
      return this.#answer(running, isAsync);
    }
    const admission = admissionOf(request, journal, arbiter, repeatMustMatch);
    if (admission.way === "begin") return this.#begin(request, isAsync);
    const { way, attempt } = admission;
    if (isAsync) return this.result(attempt, true, 0);
    if (way === "answer" || hasAsked) return this.result(attempt, true);
    return this.#ask(attempt).then(() => this.#admit(request, isAsync, true));
  }

  #begin(request: PaymentRequest, isAsync: boolean): Promise<PaymentResult> {
    const { journal, arbiter, clock, guard, handOff, settings } = this.#parts;
    const transactionId = newId();
    const { promise: begun, resolve: begin } = Promise.withResolvers<Attempt>();
    const { promise: approved, resolve: approve } = Promise.withResolvers<Attempt>();
    const ended = arbiter.commands
      .pay(request.orderId, {
        begin: (baseline, limitMs) => {
          assertHolds(request, arbiter.terminal);
          assertStillOpen(request.orderId, journal.attempts);
          assertDistinguishable(request, arbiter);
          guard.assertNoSaleMatches(request, baseline);
          const attempt = { transactionId, request, baseline, limitMs, startedAtMs: clock.now() };
          const written = storage(() => journal.attempts.begin(attempt), "no");
          begin(written);
          return written;
        },
        approved: approve,
        ended: (attempt) => handOff.begin(attempt, settings.gatewayWaitMs),
        refused: (why) => this.#refused(transactionId, request, why),
      })
      // An earlier attempt may decide: by a late result, or because its goods may be out.
      .then((end) => (isNotCharged(end.state) ? this.decisive(request.orderId, true) : end))
      .catch((error) => attemptThatDecided(error, request, settings.repeatMustMatch));
    const running = { transactionId, request, begun, approved, ended };
    this.#running = running;
    const over = (): void => {
      if (this.#running === running) this.#running = undefined;
    };
    ended.then(over, over);
    return this.#answer(running, isAsync);
  }

  async #answer(running: RunningOrder, isAsync: boolean): Promise<PaymentResult> {
    const { clock, journal, settings } = this.#parts;
    const limitMs = settings.prepareMs + this.#answerMs;
    const outcome = this.#answerable(running);
    // Set before the wait, so that no charge can come in between: an answer about it clears it.
    if (isAsync) journal.attempts.unanswered = running.transactionId;
    const first = isAsync ? Promise.race([running.begun, outcome]) : outcome;
    const attempt = await within(clock, "payment answer", limitMs, first);
    if (attempt && isAsync && isPaying(attempt.state)) {
      return { attempt, delivery: null, replayed: false, isRunning: true };
    }
    if (attempt) return this.result(attempt, false);
    // The kiosk gets no outcome here, and may not ask again: a charge from now on is unread.
    journal.attempts.unanswered = running.transactionId;
    return this.result(this.#sure(this.decisive(running.request.orderId, true)), false);
  }

  /**
   * Resolves with the approved sale while it waits for its goods, otherwise with the outcome: once
   * the goods are decided about, only the outcome is a true answer.
   */
  async #answerable({ request, approved, ended }: RunningOrder): Promise<Attempt> {
    const first = await Promise.race([approved, ended]);
    return this.#parts.arbiter.running.awaitsGoods(request.orderId) ? first : ended;
  }

  /**
   * Records that no financial command was sent. Throws instead: the error for {@link
   * attemptThatDecided} if another attempt has decided the order; TERMINAL_IN_DOUBT for a sale
   * found just now (docs/rules/19-late.md); `why` or STORES_DISAGREE if a lost journal may have had
   * a charge (docs/rules/34-journal-gap.md).
   */
  #refused(transactionId: string, request: PaymentRequest, why: AppError): Attempt {
    const { orderId, generatedId } = request;
    assertStillOpen(orderId, this.#parts.journal.attempts);
    const isUnknown = !generatedId && this.#parts.guard.chargedOfUnknown() === "unknown";
    if (isUnknown) throw asUnknown(why);
    const late = this.#lateReportOf(orderId);
    if (late) throw late;
    return this.#failed(transactionId, request, why);
  }

  /** Returns the error while the terminal is asked about a sale that can belong to the order. */
  #lateReportOf(orderId: string): AppError | undefined {
    if (this.#parts.arbiter.unmatched.lateReport(orderId) === undefined) return undefined;
    const details = { orderId };
    return new AppError("TERMINAL_IN_DOUBT", undefined, { charged: "unknown", details });
  }

  #failed(transactionId: string, request: PaymentRequest, reason: AppError): Attempt {
    const { journal, clock, log } = this.#parts;
    const { code, message } = reason;
    log.warn({ transactionId, orderId: request.orderId }, `the payment did not begin: ${message}`);
    const status = code === "PAYMENT_CANCELLED" ? "cancelled" : "failed";
    const outcome = { status, error: code, message, terminalCode: null } as const;
    const failure = { transactionId, request, outcome, startedAtMs: clock.now() };
    return storage(() => journal.attempts.recordFailure(failure), "no");
  }

  /**
   * Waits until the terminal was asked whether a late result charges the order
   * (docs/rules/19-late.md). Throws TERMINAL_IN_DOUBT if this takes too long.
   */
  async #lateReport(orderId: string, asked: Promise<void>): Promise<void> {
    await within(this.#parts.clock, "late report of a repeated order", this.#answerMs, asked);
    const late = this.#lateReportOf(orderId);
    if (late) throw late;
  }

  /** Probes the terminal for an attempt in doubt; waits no longer than an answer may take. */
  async #ask({ transactionId }: Attempt): Promise<void> {
    const { clock, arbiter } = this.#parts;
    const asked = arbiter.recovery.recover(transactionId);
    await within(clock, "recovery of a repeated order", this.#answerMs, asked);
  }
}

/**
 * Returns the refusal of an order that may be charged in a lost journal, with `charged` unknown: a
 * code such as PAYMENT_CANCELLED would mean that the order is not charged.
 */
function asUnknown(why: AppError): AppError {
  if (errorTable[why.code].http >= 500) return why;
  const { meaning } = errorTable.STORES_DISAGREE;
  const message = `The payment was not begun (${why.message}). ${meaning}`;
  return new AppError("STORES_DISAGREE", message, { cause: why });
}

/** Runs `read`; a failure throws STORAGE_FAILED, charged "unknown" (docs/rules/10-charged.md). */
function reading<T>(read: () => T, mayBeDone = false): T {
  return storage(read, "unknown", mayBeDone);
}
