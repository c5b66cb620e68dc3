import { randomUUID } from "node:crypto";
import { AppError } from "../../shared/errors.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/logger.ts";
import { type Clock, within } from "../../shared/time.ts";
import type { AttemptStore, ListedAttempt, ListPage } from "../attempts/attempt-store.ts";
import { storage } from "../attempts/failures.ts";
import type { HandOffStore } from "../attempts/hand-off-store.ts";
import {
  type Attempt,
  type AttemptEvent,
  isApproved,
  isInDoubt,
  type PaymentRequest,
} from "../attempts/payment.ts";
import type { SettledStray, TerminalLog } from "../attempts/terminal-log.ts";
import type { TerminalDesk } from "../desk/terminal-desk.ts";
import type { HandOff } from "../supervisor/hand-off.ts";
import { admissionOf, assertSameOrder } from "./admission.ts";

export interface OrderSettings {
  /** As at the desk: then the terminal is asked to cancel. */
  readonly paymentTimeoutMs: number;
  /** As at the desk: how long the terminal may take to get ready. */
  readonly prepareMs: number;
  /** How long the kiosk's request waits beyond that. */
  readonly graceMs: number;
  /** How long an answer waits for the gateway's first answer. */
  readonly gatewayWaitMs: number;
}

export interface PaymentResult {
  readonly attempt: Attempt;
  readonly delivery: DeliveryState | null;
  /** The order had been answered before; nothing was put on the wire. */
  readonly replayed: boolean;
}

export interface FoundOrder extends PaymentResult {
  /** Every attempt of the order, the oldest first. */
  readonly attempts: ReadonlyArray<Attempt & { events: AttemptEvent[] }>;
}

interface OrderParts {
  readonly attempts: AttemptStore;
  readonly handOffs: Pick<HandOffStore, "handOff" | "archivedDelivery">;
  readonly terminalLog: Pick<TerminalLog, "strays">;
  readonly desk: TerminalDesk;
  readonly handOff: HandOff;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: OrderSettings;
}

interface RunningPayment {
  readonly request: PaymentRequest;
  /** A two-phase sale was approved. */
  readonly approved: Promise<Attempt>;
  readonly ended: Promise<Attempt>;
}

/**
 * When a payment begins, what it may wait for, and what an order's repetition gets
 * (docs/design.md 5.11). A payment belongs to the desk, not to the request that asked for it.
 */
export class Orders {
  readonly #parts: OrderParts;
  #running: RunningPayment | undefined;

  constructor(parts: OrderParts) {
    this.#parts = parts;
  }

  /**
   * Pays an order, or answers what is known of it. Resolves within the limits of the settings;
   * rejects with {@link AppError} when nothing was begun.
   */
  async pay(request: PaymentRequest): Promise<PaymentResult> {
    const first = this.#admit(request);
    if (first.phase !== "in-doubt") return first.result;
    await this.#ask(first.attempt);
    const second = this.#admit(request);
    return second.phase === "in-doubt" ? this.result(second.attempt, true) : second.result;
  }

  /** Every attempt of an order with its events, and what the gateway has of the last one. */
  async lookUp(orderId: string): Promise<FoundOrder> {
    const { attempts: store } = this.#parts;
    const attempts = reading(() =>
      store.ofOrder(orderId).map((attempt) => ({
        ...this.#toTell(attempt),
        events: store.events(attempt.transactionId),
      })),
    );
    const latest = attempts.at(-1);
    if (!latest) throw new AppError("ORDER_NOT_FOUND");
    return { ...(await this.result(latest, true, 0)), attempts };
  }

  /** The newest attempt of an order. Throws ORDER_NOT_FOUND. */
  latest(orderId: string): Attempt {
    const attempt = reading(() => this.#parts.attempts.latest(orderId));
    if (!attempt) throw new AppError("ORDER_NOT_FOUND");
    return attempt;
  }

  /** The newest attempt; one in doubt is asked about first, as long as an answer may take. */
  async latestAsked(orderId: string): Promise<Attempt> {
    const attempt = this.latest(orderId);
    if (!isInDoubt(attempt.state)) return attempt;
    await this.#ask(attempt);
    return this.latest(orderId);
  }

  /** The kiosk has the whole answer of an order, or has looked it up (docs/design.md 3.11). */
  answerRead(orderId: string): void {
    reading(() => this.#parts.attempts.markAnswerDelivered(orderId));
  }

  /** The journal, newest first. */
  list(page: ListPage): ListedAttempt[] {
    const listed = reading(() => this.#parts.attempts.list(page));
    return listed.map((one) => ({ ...one, attempt: this.#toTell(one.attempt) }));
  }

  listArchived(page: ListPage): ListedAttempt[] {
    return reading(() => this.#parts.attempts.listArchived(page));
  }

  /** Results that no order asked for, newest first. */
  unexpectedReports(limit: number): SettledStray[] {
    return reading(() => this.#parts.terminalLog.strays(limit));
  }

  /** An attempt with what the gateway has of it. */
  async result(read: Attempt, replayed: boolean, waitMs?: number): Promise<PaymentResult> {
    const { handOff, settings, attempts, handOffs } = this.#parts;
    const attempt = this.#toTell(read);
    const { transactionId } = attempt;
    if (attempt.state.phase !== "charged") {
      const delivery = reading(
        () => handOffs.handOff(transactionId)?.delivery ?? handOffs.archivedDelivery(transactionId),
      );
      return { attempt, delivery, replayed };
    }
    const delivery = await handOff.delivered(transactionId, waitMs ?? settings.gatewayWaitMs);
    // A reversal may have been done and answered during the wait (docs/design.md 3.8).
    const now = reading(() => attempts.read(transactionId)) ?? attempt;
    return { attempt: now, delivery, replayed };
  }

  #admit(request: PaymentRequest): Admitted {
    const running = this.#running;
    if (running?.request.orderId === request.orderId) {
      assertSameOrder(request, running.request, "unknown");
      return { phase: "done", result: this.#answer(running) };
    }
    const admission = admissionOf(request, this.#parts);
    switch (admission.phase) {
      case "begin":
        return { phase: "done", result: this.#begin(request) };
      case "known":
        return { phase: "done", result: this.result(admission.attempt, true) };
      case "in-doubt":
        return admission;
    }
  }

  #begin(request: PaymentRequest): Promise<PaymentResult> {
    const { attempts, desk, clock } = this.#parts;
    const transactionId = randomUUID();
    const { promise: approved, resolve: approve } = Promise.withResolvers<Attempt>();
    const ended = desk.pay(request.orderId, {
      begin: (baseline) =>
        writing(() =>
          attempts.begin({ transactionId, request, baseline, startedAtMs: clock.now() }),
        ),
      approved: approve,
      refused: (why) => this.#failed(transactionId, request, why),
    });
    const running = { request, approved, ended };
    this.#running = running;
    const over = (): void => {
      if (this.#running === running) this.#running = undefined;
    };
    ended.then(over, over);
    return this.#answer(running);
  }

  async #answer(running: RunningPayment): Promise<PaymentResult> {
    const { clock, settings, attempts } = this.#parts;
    const limitMs = settings.prepareMs + settings.paymentTimeoutMs + settings.graceMs;
    const attempt = await within(clock, "payment answer", limitMs, this.#answerable(running));
    if (attempt) return this.result(attempt, false);
    const still = reading(() => attempts.latest(running.request.orderId));
    if (!still) throw new AppError("TERMINAL_NO_ANSWER");
    return this.result(still, false);
  }

  /**
   * Resolves with the sale while it waits for its goods, else with its end: a decision about the
   * goods may have been taken since the approval, and then only the end tells the truth.
   */
  async #answerable({ request, approved, ended }: RunningPayment): Promise<Attempt> {
    const first = await Promise.race([approved, ended]);
    return this.#parts.desk.awaitsGoods(request.orderId) ? first : ended;
  }

  /**
   * An attempt as it may be told: "Approved" is told only while the terminal really holds the sale,
   * because a kiosk hands out its goods on that word (docs/design.md 5.11). The record on disk says
   * less when the end could not be written, or was not heard by an earlier process.
   */
  #toTell(read: Attempt): Attempt {
    const { attempts, desk } = this.#parts;
    if (!isApproved(read.state) || desk.awaitsGoods(read.request.orderId)) return read;
    const attempt = reading(() => attempts.read(read.transactionId)) ?? read;
    const { state } = attempt;
    return state.phase === "sent" && isApproved(state)
      ? { ...attempt, state: { ...state, goods: null } }
      : attempt;
  }

  /** Nothing financial has left: the attempt is recorded as failed, with the reason. */
  #failed(transactionId: string, request: PaymentRequest, reason: AppError): Attempt {
    const { attempts, clock, log } = this.#parts;
    const { code, message } = reason;
    log.warn({ transactionId, orderId: request.orderId }, `payment not begun: ${message}`);
    const status = code === "PAYMENT_CANCELLED" ? "cancelled" : "failed";
    return writing(() =>
      attempts.recordFailure({
        transactionId,
        request,
        state: {
          phase: "not-charged",
          outcome: { status, error: code, message, terminalCode: null },
        },
        startedAtMs: clock.now(),
      }),
    );
  }

  /** Has the terminal asked about an attempt in doubt, and waits as long as an answer may take. */
  async #ask({ transactionId }: Attempt): Promise<void> {
    const { clock, settings, desk } = this.#parts;
    const limitMs = settings.paymentTimeoutMs + settings.graceMs;
    await within(clock, "recovery of a repeated order", limitMs, desk.recover(transactionId));
  }
}

/** If the journal cannot be read, what became of an order is not known (docs/design.md 3.10). */
function reading<T>(read: () => T): T {
  return storage(read, "unknown");
}

/** A record that could not be written before anything left: nothing was charged. */
function writing<T>(write: () => T): T {
  return storage(write, "no");
}

type Admitted =
  | { readonly phase: "done"; readonly result: Promise<PaymentResult> }
  | { readonly phase: "in-doubt"; readonly attempt: Attempt };
