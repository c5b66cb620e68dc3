import { randomUUID } from "node:crypto";
import { AppError } from "../../shared/errors.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/logger.ts";
import { type Clock, within } from "../../shared/time.ts";
import type { AttemptStore, ListedAttempt, ListPage } from "../attempts/attempt-store.ts";
import type { Announce } from "../attempts/event-table.ts";
import { CancelledInTime, failureOf, storage } from "../attempts/failures.ts";
import type { HandOffStore } from "../attempts/hand-off-store.ts";
import type { Attempt, AttemptEvent, PaymentRequest } from "../attempts/payment.ts";
import type { SettledStray, TerminalLog } from "../attempts/terminal-log.ts";
import { PaymentRun } from "../desk/payment-run.ts";
import { Recovery } from "../desk/recovery.ts";
import { StrayReports } from "../desk/stray-reports.ts";
import { TerminalGate } from "../desk/terminal-gate.ts";
import { TerminalTurn } from "../desk/terminal-turn.ts";
import type { HandOff } from "../supervisor/hand-off.ts";
import type { Baseline, Terminal, TerminalIdentity } from "../terminal/terminal.ts";
import { Admissions } from "./admission.ts";
import { assertSameOrder } from "./same-order.ts";

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
  readonly attempts: AttemptStore;
  readonly handOffs: Pick<HandOffStore, "handOff" | "archivedDelivery">;
  readonly terminalLog: TerminalLog;
  readonly terminal: Terminal;
  readonly handOff: HandOff;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: PaymentSettings;
  /** For `GET /events`. */
  readonly announce?: Announce | undefined;
}

interface RunningPayment {
  readonly request: PaymentRequest;
  /** The first of: approved and waiting for goods, ended. */
  readonly answerable: Promise<Attempt>;
  readonly preparing: AbortController;
  /** undefined while the terminal is being prepared. */
  run: PaymentRun | undefined;
}

/**
 * When a payment begins, what it may wait for, and what an order's repetition gets
 * (docs/design.md 5.11). A payment belongs to this service, not to the request that asked for it.
 */
export class PaymentService {
  readonly #parts: PaymentParts;
  readonly recovery: Recovery;
  readonly strays: StrayReports;
  readonly turn = new TerminalTurn();
  readonly #gate: TerminalGate;
  readonly #admissions: Admissions;
  #payment: RunningPayment | undefined;

  constructor(parts: PaymentParts) {
    this.#parts = parts;
    this.#gate = new TerminalGate({ ...parts, prepareMs: parts.settings.prepareMs });
    this.#admissions = new Admissions({
      ...parts,
      turn: this.turn,
      blockedBy: () => this.recovery.blockedBy,
      strayAsked: () => this.strays.isAsking,
    });
    this.recovery = new Recovery({
      ...parts,
      confirmAfterMs: parts.settings.confirmAfterMs,
      terminalFree: () => this.turn.whenFree(),
      asking: () => this.#keepEvidence(),
      settled: () => this.handOver(),
    });
    this.strays = new StrayReports({
      ...parts,
      asking: () => this.#keepEvidence(),
      confirmAfterMs: parts.settings.confirmAfterMs,
      terminalFree: async () => {
        await this.turn.whenFree();
        await this.recovery.whenIdle();
      },
    });
  }

  /** Attempts that a former process left open are put in doubt and asked about. */
  start(): void {
    this.#parts.terminal.subscribe((event) => {
      if (event.type === "unexpected-report") this.strays.take(event.report);
    });
    this.recovery.begin();
    this.strays.begin();
    this.handOver();
  }

  /**
   * While it is asked about anything the terminal is not to change by itself (docs/design.md 3.5).
   */
  #keepEvidence(): void {
    const keep = this.recovery.isAsking || this.strays.isAsking;
    this.#parts.terminal.keepEvidence?.(keep);
  }

  /** The payment of an order that is on the terminal now. */
  runOf(orderId: string): PaymentRun | undefined {
    return this.#payment?.request.orderId === orderId ? this.#payment.run : undefined;
  }

  /**
   * Pays an order, or answers what is known of it. Resolves within the limits of the settings;
   * rejects with {@link AppError} when nothing was begun.
   */
  async pay(request: PaymentRequest): Promise<PaymentResult> {
    const first = this.#admit(request);
    if (first.phase !== "in-doubt") return first.result;
    await this.settle(first.attempt);
    const second = this.#admit(request);
    return second.phase === "in-doubt" ? this.result(second.attempt, true) : second.result;
  }

  /** Every attempt of an order with its events, and what the gateway has of the last one. */
  async lookUp(
    orderId: string,
  ): Promise<
    PaymentResult & { readonly attempts: ReadonlyArray<Attempt & { events: AttemptEvent[] }> }
  > {
    const { attempts: store } = this.#parts;
    const attempts = this.#reading(() =>
      store
        .ofOrder(orderId)
        .map((attempt) => ({ ...attempt, events: store.events(attempt.transactionId) })),
    );
    const latest = attempts.at(-1);
    if (!latest) throw new AppError("ORDER_NOT_FOUND");
    return { ...(await this.result(latest, true, 0)), attempts };
  }

  /** The newest attempt of an order. Throws ORDER_NOT_FOUND. */
  latest(orderId: string): Attempt {
    const attempt = this.#reading(() => this.#parts.attempts.latest(orderId));
    if (!attempt) throw new AppError("ORDER_NOT_FOUND");
    return attempt;
  }

  /**
   * Asks the terminal to cancel the running payment. Resolves when it has taken the request; the
   * payment's own answer decides.
   */
  async cancel(): Promise<void> {
    const running = this.#payment;
    if (!running) throw new AppError("NOTHING_TO_CANCEL");
    if (!running.run) {
      running.preparing.abort(new CancelledInTime());
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

  /** Refuses new payments, lets what runs end, cancels a payment that takes too long. */
  async stop(): Promise<void> {
    this.turn.close();
    const { clock, settings, log } = this.#parts;
    const free = this.turn.whenFree().then(() => true);
    if (!(await within(clock, "stop patience", settings.stopPatienceMs, free))) {
      await this.cancel().catch((error: unknown) =>
        log.warn({ err: error }, "what runs could not be cancelled for the stop"),
      );
      await free;
    }
    await Promise.all([this.recovery.close(), this.strays.close()]);
  }

  /**
   * The kiosk has been sent the whole answer of an order, or has looked it up
   * (docs/design.md 3.11).
   */
  answerRead(orderId: string): void {
    this.#reading(() => this.#parts.attempts.markAnswerDelivered(orderId));
  }

  /** Something has become charged or reversed: the supervisor is told. */
  handOver(): void {
    this.#parts.handOff.nudge();
  }

  /** The journal, newest first. */
  list(page: ListPage): ListedAttempt[] {
    return this.#reading(() => this.#parts.attempts.list(page));
  }

  listArchived(page: ListPage): ListedAttempt[] {
    return this.#reading(() => this.#parts.attempts.listArchived(page));
  }

  /** Results that no order asked for, newest first. */
  unexpectedReports(limit: number): SettledStray[] {
    return this.#reading(() => this.#parts.terminalLog.strays(limit));
  }

  /** The operator accepts the terminal that is connected now (docs/design.md 3.12). */
  acceptTerminal(): TerminalIdentity {
    return this.#gate.accept();
  }

  /** The terminal that is connected now is not the accepted one (docs/design.md 3.12). */
  get terminalChanged(): boolean {
    return this.#gate.changed;
  }

  /** Asks the terminal about an attempt in doubt and waits for it as long as an answer may take. */
  async settle({ transactionId }: Attempt): Promise<void> {
    const { clock, settings } = this.#parts;
    const limitMs = settings.paymentTimeoutMs + settings.graceMs;
    const run = this.recovery.recover(transactionId);
    await within(clock, "recovery of a repeated order", limitMs, run);
  }

  /** See {@link TerminalGate.prepare}. */
  prepare(preparing = new AbortController()): Promise<Baseline> {
    return this.#gate.prepare(preparing);
  }

  /** docs/design.md 3.5. Throws TERMINAL_IN_DOUBT. */
  assertNoDoubt(): void {
    this.#admissions.assertNoDoubt();
  }

  async result(attempt: Attempt, replayed: boolean, waitMs?: number): Promise<PaymentResult> {
    const { handOff, settings, attempts, handOffs } = this.#parts;
    const { transactionId } = attempt;
    if (attempt.state.phase !== "charged") {
      const delivery = this.#reading(
        () => handOffs.handOff(transactionId)?.delivery ?? handOffs.archivedDelivery(transactionId),
      );
      return { attempt, delivery, replayed };
    }
    const delivery = await handOff.delivered(transactionId, waitMs ?? settings.gatewayWaitMs);
    // It may have been reversed during the wait, and that may have been answered
    // (docs/design.md 3.8).
    const now = this.#reading(() => attempts.read(transactionId)) ?? attempt;
    return { attempt: now, delivery, replayed };
  }

  /** A record that could not be written before anything left: nothing was charged. */
  writing<T>(write: () => T): T {
    return storage(write, "no");
  }

  #admit(request: PaymentRequest): Admitted {
    const running = this.#payment;
    if (running?.request.orderId === request.orderId) {
      assertSameOrder(request, running.request, "unknown");
      return { phase: "done", result: this.#answer(running) };
    }
    const admission = this.#admissions.judge(request);
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
    const { promise: answerable, resolve: answer } = Promise.withResolvers<Attempt>();
    const running: RunningPayment = {
      request,
      answerable,
      preparing: new AbortController(),
      run: undefined,
    };
    const ended = this.turn.take("payment", request.orderId, () => {
      this.#payment = running;
      return this.#execute(running, answer).finally(() => {
        this.#payment = undefined;
      });
    });
    ended.then(answer, () => answer(ended));
    return this.#answer(running);
  }

  async #answer({ request, answerable }: RunningPayment): Promise<PaymentResult> {
    const { clock, settings, attempts } = this.#parts;
    const limitMs = settings.prepareMs + settings.paymentTimeoutMs + settings.graceMs;
    const attempt = await within(clock, "payment answer", limitMs, answerable);
    if (attempt) return this.result(attempt, false);
    const still = this.#reading(() => attempts.latest(request.orderId));
    if (!still) throw new AppError("TERMINAL_NO_ANSWER");
    return this.result(still, false);
  }

  async #execute(running: RunningPayment, answer: (attempt: Attempt) => void): Promise<Attempt> {
    const { request } = running;
    const { clock, log, settings } = this.#parts;
    const transactionId = randomUUID();
    let baseline: Baseline;
    try {
      baseline = await this.prepare(running.preparing);
      // A cancel may come between the last answer of the terminal and this line.
      running.preparing.signal.throwIfAborted();
      // What the terminal reported meanwhile would be hidden by this sale.
      this.assertNoDoubt();
    } catch (error) {
      return this.#failed(transactionId, request, error);
    }
    const attempt = this.writing(() =>
      this.#parts.attempts.begin({ transactionId, request, baseline, startedAtMs: clock.now() }),
    );
    const about = { transactionId, orderId: request.orderId, attempt: attempt.number };
    log.info(about, "payment begins");
    const { paymentTimeoutMs } = settings;
    const run = new PaymentRun(attempt, { ...this.#parts, paymentTimeoutMs });
    running.run = run;
    void run.approved.then(answer);
    const end = await this.finished(attempt, run.finish());
    log.info(about, `payment ended: ${end.state.phase}`);
    return end;
  }

  /** The end of something financial: in doubt it is asked about; not on disk it is not known. */
  async finished(begun: Attempt, run: Promise<Attempt>): Promise<Attempt> {
    const { log } = this.#parts;
    const { transactionId } = begun;
    const end = await run.catch((error: unknown) => {
      log.error({ transactionId, err: error, alarm: "journal" }, "an end is not on disk");
      this.recovery.doubted(begun);
      throw new AppError("STORAGE_FAILED", undefined, { charged: "unknown", cause: error });
    });
    const { phase } = end.state;
    if (phase === "in-doubt" || phase === "reversal-in-doubt") {
      this.recovery.doubted(end);
    }
    if (phase === "reversed") this.handOver();
    return end;
  }

  /** Nothing financial has left: the attempt is recorded as failed, with the reason. */
  #failed(transactionId: string, request: PaymentRequest, error: unknown): Attempt {
    const { attempts, clock, log } = this.#parts;
    const reason = failureOf(error);
    if (!reason) throw error;
    log.warn({ transactionId, orderId: request.orderId }, `payment not begun: ${reason.message}`);
    return this.writing(() =>
      attempts.recordFailure({
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

  /** If the journal cannot be read, what became of an order is not known (docs/design.md 3.10). */
  #reading<T>(read: () => T): T {
    return storage(read, "unknown");
  }
}

type Admitted =
  | { readonly phase: "done"; readonly result: Promise<PaymentResult> }
  | { readonly phase: "in-doubt"; readonly attempt: Attempt };
