import { randomUUID } from "node:crypto";
import { AppError, type Charged, type ErrorCode } from "../../shared/errors.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/logger.ts";
import { type Clock, within } from "../../shared/time.ts";
import {
  type Baseline,
  type Terminal,
  type TerminalIdentity,
  TerminalUnavailable,
  type UnavailableReason,
} from "../terminal/terminal.ts";
import type { HandOff } from "./hand-off.ts";
import { type Attempt, type AttemptEvent, chargedOf, type PaymentRequest } from "./payment.ts";
import { PaymentRun } from "./payment-run.ts";
import type { PaymentStore } from "./payment-store.ts";
import { Recovery } from "./recovery.ts";
import { sameTerminal } from "./recovery-policy.ts";

export interface PaymentSettings {
  /** Then the terminal is asked to cancel. */
  readonly paymentTimeoutMs: number;
  /** How long the kiosk's request waits beyond that. */
  readonly graceMs: number;
  /** How long an answer waits for the gateway's first answer. */
  readonly gatewayWaitMs: number;
  /** How long the terminal may take to answer before anything financial. */
  readonly prepareMs: number;
  /** At a stop: how long a running payment may go on before it is cancelled. */
  readonly stopPatienceMs: number;
  /** Time between the two reads of a recovery. */
  readonly confirmAfterMs: number;
}

export interface PaymentResult {
  readonly attempt: Attempt;
  readonly delivery: DeliveryState | null;
  /** The order had been answered before; nothing was put on the wire. */
  readonly replayed: boolean;
}

export interface PaymentParts {
  readonly store: PaymentStore;
  readonly terminal: Terminal;
  readonly handOff: HandOff;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: PaymentSettings;
}

interface Running {
  readonly request: PaymentRequest;
  readonly ended: Promise<Attempt>;
  readonly preparing: AbortController;
  /** undefined while the terminal is being prepared. */
  run: PaymentRun | undefined;
}

/**
 * When a payment begins, what it may wait for, and what an order's repetition gets (DESIGN 5). A
 * payment belongs to this service, not to the request that asked for it.
 */
export class PaymentService {
  readonly #parts: PaymentParts;
  readonly recovery: Recovery;
  #running: Running | undefined;
  #stopping = false;

  constructor(parts: PaymentParts) {
    this.#parts = parts;
    this.recovery = new Recovery({
      ...parts,
      confirmAfterMs: parts.settings.confirmAfterMs,
      terminalFree: () => this.#free(),
      charged: ({ transactionId }) => void parts.handOff.delivered(transactionId, 0),
    });
  }

  /** Attempts that a former process left open are put in doubt and asked about. */
  start(): void {
    this.recovery.begin();
    this.#parts.handOff.nudge();
  }

  /** The order being paid now, or undefined. */
  get runningOrder(): string | undefined {
    return this.#running?.request.orderId;
  }

  /**
   * Pays an order, or answers what is known of it. Resolves within the limits of the settings;
   * rejects with {@link AppError} when nothing was begun.
   */
  async pay(request: PaymentRequest): Promise<PaymentResult> {
    const first = this.#admit(request);
    if (first.phase !== "in-doubt") return first.result;
    await within(
      this.#parts.clock,
      "recovery of a repeated order",
      this.#parts.settings.paymentTimeoutMs + this.#parts.settings.graceMs,
      this.recovery.recover(first.attempt.transactionId),
    );
    const second = this.#admit(request);
    return second.phase === "in-doubt" ? this.#result(second.attempt, true) : second.result;
  }

  /** Every attempt of an order with its events, and what the gateway has of the last one. */
  async lookUp(
    orderId: string,
  ): Promise<
    PaymentResult & { readonly attempts: ReadonlyArray<Attempt & { events: AttemptEvent[] }> }
  > {
    const { store } = this.#parts;
    const attempts = this.#reading(() =>
      store
        .attempts(orderId)
        .map((attempt) => ({ ...attempt, events: store.events(attempt.transactionId) })),
    );
    const latest = attempts.at(-1);
    if (!latest) throw new AppError("ORDER_NOT_FOUND");
    return { ...(await this.#result(latest, true, 0)), attempts };
  }

  /**
   * Asks the terminal to cancel the running payment. Resolves when it has taken the request; the
   * payment's own answer decides.
   */
  async cancel(): Promise<void> {
    const running = this.#running;
    if (!running) throw new AppError("NOTHING_TO_CANCEL");
    if (!running.run) {
      running.preparing.abort(new Cancelled());
      return;
    }
    const answer = await running.run.cancel();
    switch (answer.answer) {
      case "taken":
        return;
      case "nothing-running":
        throw new AppError("NOTHING_TO_CANCEL");
      case "refused":
        throw new AppError("CANCEL_REFUSED", undefined, {
          details: { terminalCode: answer.code, terminalText: answer.text },
        });
      case "no-answer":
        throw new AppError("CANCEL_REFUSED", `The terminal did not answer: ${answer.text}`);
    }
  }

  /** Refuses new payments, lets a running one end, cancels it when it takes too long. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const running = this.#running;
    if (running) {
      const ended = running.ended.then(undefined, () => undefined);
      const { clock, settings } = this.#parts;
      const done = await within(clock, "stop patience", settings.stopPatienceMs, ended);
      if (!done) {
        await this.cancel().catch((error: unknown) =>
          this.#parts.log.warn({ err: error }, "the payment could not be cancelled for the stop"),
        );
        await ended;
      }
    }
    await this.recovery.close();
  }

  /** The kiosk has been sent the whole answer of an order, or has looked it up (rule 11). */
  answerRead(orderId: string): void {
    this.#reading(() => this.#parts.store.markAnswerDelivered(orderId));
  }

  /** The operator accepts the terminal that is connected now (DESIGN 3.1 rule 12). */
  acceptTerminal(): TerminalIdentity {
    const { terminal, store, clock } = this.#parts;
    if (terminal.state.link !== "connected") throw new AppError("TERMINAL_DISCONNECTED");
    const { identity } = terminal.state;
    this.#writing(() => store.acceptTerminal(identity, clock.now()));
    return identity;
  }

  /** Makes `stop` refuse payments at once, before the ordered stop has reached this service. */
  refuseNew(): void {
    this.#stopping = true;
  }

  #admit(request: PaymentRequest): Admission {
    if (this.#stopping) throw new AppError("STOPPING");
    const running = this.#running;
    if (running) return { phase: "done", result: this.#attach(running, request) };
    const { store } = this.#parts;
    const earlier = this.#reading(() => store.latestAttempt(request.orderId));
    if (earlier && earlier.state.phase !== "not-charged") {
      assertSameOrder(request, earlier.request, chargedOf(earlier.state));
      if (earlier.state.phase === "charged") {
        return { phase: "done", result: this.#result(earlier, true) };
      }
      return { phase: "in-doubt", attempt: earlier };
    }
    this.#assertAnswerRead(request);
    if (this.recovery.blockedBy !== undefined) {
      throw new AppError("TERMINAL_IN_DOUBT", undefined, {
        details: { orderId: this.recovery.blockedBy },
      });
    }
    return { phase: "done", result: this.#begin(request) };
  }

  #attach(running: Running, request: PaymentRequest): Promise<PaymentResult> {
    if (running.request.orderId !== request.orderId) {
      throw new AppError("TERMINAL_BUSY", undefined, {
        details: { orderId: running.request.orderId },
      });
    }
    assertSameOrder(request, running.request, "unknown");
    return this.#answer(running);
  }

  /** DESIGN 3.1 rule 11. */
  #assertAnswerRead({ generatedId, amountMinor, currency }: PaymentRequest): void {
    if (!generatedId) return;
    const { store } = this.#parts;
    const orderId = this.#reading(() => store.undeliveredGenerated(amountMinor, currency.alpha));
    if (orderId !== undefined) {
      throw new AppError("ANSWER_NOT_DELIVERED", undefined, { details: { orderId } });
    }
  }

  #begin(request: PaymentRequest): Promise<PaymentResult> {
    const preparing = new AbortController();
    const { promise: ended, resolve, reject } = Promise.withResolvers<Attempt>();
    const running: Running = { request, ended, preparing, run: undefined };
    this.#running = running;
    this.#execute(running)
      .finally(() => {
        this.#running = undefined;
      })
      .then(resolve, reject);
    return this.#answer(running);
  }

  async #answer({ request, ended }: Running): Promise<PaymentResult> {
    const { clock, settings, store } = this.#parts;
    const limitMs = settings.prepareMs + settings.paymentTimeoutMs + settings.graceMs;
    const attempt = await within(clock, "payment answer", limitMs, ended);
    if (attempt) return this.#result(attempt, false);
    const still = this.#reading(() => store.latestAttempt(request.orderId));
    if (!still) throw new AppError("TERMINAL_NO_ANSWER");
    return this.#result(still, false);
  }

  async #execute(running: Running): Promise<Attempt> {
    const { request } = running;
    const { store, clock, terminal, log, settings } = this.#parts;
    const transactionId = randomUUID();
    let baseline: Baseline;
    try {
      baseline = await this.#prepare(running.preparing);
    } catch (error) {
      return this.#failed(transactionId, request, error);
    }
    const attempt = this.#writing(() =>
      store.begin({ transactionId, request, baseline, startedAtMs: clock.now() }),
    );
    log.info(
      { transactionId, orderId: request.orderId, attempt: attempt.number },
      "payment begins",
    );
    running.run = new PaymentRun(attempt, {
      store,
      clock,
      terminal,
      log,
      paymentTimeoutMs: settings.paymentTimeoutMs,
    });
    const end = await running.run.finish().catch((error: unknown) => {
      log.error({ transactionId, err: error, alarm: "journal" }, "a payment's end is not on disk");
      throw new AppError("STORAGE_FAILED", undefined, { charged: "unknown", cause: error });
    });
    log.info({ transactionId, orderId: request.orderId }, `payment ended: ${end.state.phase}`);
    if (end.state.phase === "in-doubt") void this.recovery.recover(transactionId);
    return end;
  }

  async #prepare(preparing: AbortController): Promise<Baseline> {
    const { terminal, clock, settings, store } = this.#parts;
    const limit = clock.startTimer("prepare", settings.prepareMs, () =>
      preparing.abort(new TerminalUnavailable("no-answer", "the terminal did not answer in time")),
    );
    try {
      const baseline = await terminal.prepare(preparing.signal);
      preparing.signal.throwIfAborted();
      const accepted = store.acceptedTerminal();
      if (accepted && !sameTerminal(accepted, baseline.identity)) {
        throw new AppError("TERMINAL_CHANGED", undefined, {
          details: { accepted, found: baseline.identity },
        });
      }
      if (!accepted) store.acceptTerminal(baseline.identity, clock.now());
      return baseline;
    } finally {
      limit.clear();
    }
  }

  /** Nothing financial has left: the attempt is recorded as failed, with the reason. */
  #failed(transactionId: string, request: PaymentRequest, error: unknown): Attempt {
    const { store, clock, log } = this.#parts;
    const reason = failureOf(error);
    if (!reason) throw error;
    log.warn({ transactionId, orderId: request.orderId }, `payment not begun: ${reason.message}`);
    return this.#writing(() =>
      store.recordFailure({
        transactionId,
        request,
        state: {
          phase: "not-charged",
          outcome: {
            status: reason.code === "PAYMENT_CANCELLED" ? "cancelled" : "failed",
            error: reason.code,
            message: reason.message,
            terminalCode: null,
          },
        },
        startedAtMs: clock.now(),
      }),
    );
  }

  async #result(attempt: Attempt, replayed: boolean, waitMs?: number): Promise<PaymentResult> {
    const { handOff, settings } = this.#parts;
    const delivery =
      attempt.state.phase === "charged"
        ? await handOff.delivered(attempt.transactionId, waitMs ?? settings.gatewayWaitMs)
        : null;
    return { attempt, delivery, replayed };
  }

  /** If the journal cannot be read, what became of an order is not known (DESIGN 3.1 rule 10). */
  #reading<T>(read: () => T): T {
    return storage(read, "unknown");
  }

  /** A record that could not be written before anything left: nothing was charged. */
  #writing<T>(write: () => T): T {
    return storage(write, "no");
  }

  async #free(): Promise<void> {
    while (this.#running) await this.#running.ended.then(undefined, () => undefined);
  }
}

type Admission =
  | { readonly phase: "done"; readonly result: Promise<PaymentResult> }
  | { readonly phase: "in-doubt"; readonly attempt: Attempt };

class Cancelled extends Error {
  override readonly name = "Cancelled";
  override readonly message = "cancelled before the terminal was asked to charge";
}

const unavailableCodes: Record<UnavailableReason, ErrorCode> = {
  disconnected: "TERMINAL_DISCONNECTED",
  "not-registered": "TERMINAL_DISCONNECTED",
  "no-answer": "TERMINAL_NO_ANSWER",
  busy: "TERMINAL_BUSY",
  "out-of-order": "TERMINAL_OUT_OF_ORDER",
  closed: "STOPPING",
};

/** Why a payment could not begin; undefined for a fault of this program. */
function failureOf(error: unknown): { code: ErrorCode; message: string } | undefined {
  if (error instanceof TerminalUnavailable) {
    return { code: unavailableCodes[error.reason], message: error.message };
  }
  if (error instanceof Cancelled) return { code: "PAYMENT_CANCELLED", message: error.message };
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return undefined;
}

function assertSameOrder(request: PaymentRequest, earlier: PaymentRequest, charged: Charged): void {
  const same =
    request.amountMinor === earlier.amountMinor &&
    request.currency.alpha === earlier.currency.alpha;
  if (same) return;
  throw new AppError("ORDER_MISMATCH", undefined, {
    charged,
    details: { amount: earlier.echo.amount, currency: earlier.currency.alpha },
  });
}

function storage<T>(work: () => T, charged: Charged): T {
  try {
    return work();
  } catch (error) {
    throw new AppError("STORAGE_FAILED", undefined, { charged, cause: error });
  }
}
