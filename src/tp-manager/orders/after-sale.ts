import { AppError } from "../../shared/errors.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { AttemptStore } from "../attempts/attempt-store.ts";
import type { Announce } from "../attempts/event-table.ts";
import { failureOf, storage } from "../attempts/failures.ts";
import { type Attempt, chargedOf, returnOf } from "../attempts/payment.ts";
import { sameTerminal } from "../attempts/recovery-policy.ts";
import type { TerminalLog } from "../attempts/terminal-log.ts";
import { runReversal } from "../desk/reversal-run.ts";
import type { Baseline, GoodsDecision, Terminal } from "../terminal/terminal.ts";
import type { PaymentResult, PaymentService } from "./payment-service.ts";

export interface AfterSaleParts {
  readonly attempts: AttemptStore;
  readonly terminalLog: Pick<TerminalLog, "telecollectionSince">;
  readonly terminal: Terminal;
  readonly payments: PaymentService;
  readonly clock: Clock;
  readonly log: Logger;
  /** For `GET /events`. */
  readonly announce?: Announce | undefined;
}

/** What can still happen to a sale that the terminal has approved: delivery and reversal. */
export class AfterSale {
  readonly #parts: AfterSaleParts;

  constructor(parts: AfterSaleParts) {
    this.#parts = parts;
  }

  /**
   * Reverses a charged order on the terminal, once (docs/design.md 3.7). An order that is reversed
   * already is answered as it stands. Throws {@link AppError} when nothing was sent, and
   * REVERSAL_REFUSED when the terminal says that the sale stands.
   */
  async reverse(orderId: string): Promise<PaymentResult> {
    const { payments } = this.#parts;
    const attempt = await this.#settled(orderId);
    switch (attempt.state.phase) {
      case "reversed":
        return payments.result(attempt, true);
      case "not-charged":
        throw new AppError("ORDER_NOT_CHARGED");
      case "charged":
        if (returnOf(attempt) === "all") return payments.result(attempt, true);
        assertNotReturned(attempt);
        break;
      default:
        return payments.result(attempt, true); // still unknown
    }
    const end = await this.#begin(orderId).catch((error: unknown) => {
      throw this.#truthful(error, orderId);
    });
    if (end.state.phase === "charged") {
      throw new AppError("REVERSAL_REFUSED", "The terminal did not reverse the sale.");
    }
    return payments.result(end, false);
  }

  /**
   * Says whether the goods of an approved sale came out; answers after the terminal's completion
   * (docs/design.md 5.12). `amountMinor`: only goods of that value came out.
   */
  async deliver(
    orderId: string,
    delivered: boolean,
    amountMinor: number | undefined,
  ): Promise<PaymentResult> {
    const { payments, terminal } = this.#parts;
    const run = payments.runOf(orderId);
    const attempt = payments.latest(orderId);
    if (!attempt.request.delivery) {
      throw new AppError("DELIVERY_DECIDED", "The order was not asked for as a two-phase sale.", {
        charged: chargedOf(attempt.state),
      });
    }
    const askedMinor = attempt.request.amountMinor;
    const decision = decisionOf(delivered, amountMinor, askedMinor);
    if (decision.goods === "partly-issued" && !terminal.capabilities.partialIssue) {
      throw new AppError("NOT_SUPPORTED", "This terminal cannot charge a part of an approval.", {
        charged: chargedOf(attempt.state),
      });
    }
    if (!run) return this.#decidedBefore(await this.#settled(orderId), decision);
    const isEarly = attempt.state.phase === "sent" && attempt.state.goods === null;
    if (isEarly) throw this.#decided(attempt);
    const word = run.decide(decision, "the kiosk said so");
    // What the other word, or the terminal's own window, made of the sale is known at its end.
    await payments.turn.whenFree();
    if (word === "other") throw this.#decided(await this.#settled(orderId));
    const end = payments.latest(orderId);
    const inVain = decision.goods !== "not-issued" && end.state.phase === "not-charged";
    if (inVain) throw this.#decided(end);
    return payments.result(end, false);
  }

  /** After the end the same word is harmless; another one is told the truth. */
  async #decidedBefore(attempt: Attempt, decision: GoodsDecision): Promise<PaymentResult> {
    const { payments } = this.#parts;
    const { state } = attempt;
    const agrees =
      (state.phase === "charged" && decision.goods !== "not-issued") ||
      (state.phase === "not-charged" && decision.goods === "not-issued");
    const sameSum =
      state.phase !== "charged" ||
      decision.goods !== "partly-issued" ||
      state.report.amountMinor === decision.amountMinor ||
      state.goodsMinor === decision.amountMinor;
    if (agrees && sameSum) return await payments.result(attempt, true);
    throw this.#decided(attempt);
  }

  #decided({ state }: Attempt): AppError {
    return new AppError("DELIVERY_DECIDED", undefined, { charged: chargedOf(state) });
  }

  /** The order's newest attempt; one in doubt is asked about first. */
  async #settled(orderId: string): Promise<Attempt> {
    const { payments } = this.#parts;
    const attempt = payments.latest(orderId);
    if (!attempt.state.phase.endsWith("in-doubt")) return attempt;
    await payments.settle(attempt);
    return payments.latest(orderId);
  }

  async #begin(orderId: string): Promise<Attempt> {
    const { payments, terminal } = this.#parts;
    const { reverse } = terminal;
    if (!reverse) throw new AppError("NOT_SUPPORTED", "This terminal cannot reverse a sale.");
    payments.assertNoDoubt();
    return await payments.turn.take("reversal", orderId, () =>
      this.#run(orderId, reverse.bind(terminal)),
    );
  }

  /**
   * What refuses a reversal says nothing of the order; its `charged` must (docs/design.md 3.10).
   */
  #truthful(error: unknown, orderId: string): unknown {
    if (!(error instanceof AppError) || error.charged === "unknown") return error;
    const { code, message, details } = error;
    const charged = chargedOf(this.#parts.payments.latest(orderId).state);
    return new AppError(code, message, { charged, details, cause: error });
  }

  async #run(orderId: string, reverse: NonNullable<Terminal["reverse"]>): Promise<Attempt> {
    const { payments, log } = this.#parts;
    let attempt: Attempt;
    let baseline: Baseline;
    try {
      baseline = await payments.prepare();
      // What the terminal reported meanwhile would be hidden by the reversal.
      payments.assertNoDoubt();
      // Read only now that nothing else can have the terminal: it may have been reversed meanwhile.
      attempt = payments.latest(orderId);
      this.#assertReversible(attempt, baseline);
    } catch (error) {
      // Nothing has left: the sale stands.
      throw failureOf(error) ?? error;
    }
    const { transactionId } = attempt;
    log.info({ transactionId, orderId }, "reversal begins");
    const run = runReversal(attempt, baseline, reverse, this.#parts);
    return await payments.finished(attempt, run);
  }

  /** docs/design.md 3.7: the same terminal, and its storage not closed since. */
  #assertReversible(attempt: Attempt, now: Baseline): void {
    const { state } = attempt;
    if (state.phase !== "charged" || state.report.receiptNumber === null) {
      throw new AppError("REVERSAL_REFUSED", "The terminal gave no receipt number for this sale.");
    }
    assertNotReturned(attempt);
    if (!attempt.baseline || !sameTerminal(attempt.baseline.identity, now.identity)) {
      throw new AppError("REVERSAL_REFUSED", "Another terminal is connected than at the sale.");
    }
    const { terminalLog } = this.#parts;
    const { startedAtMs, transactionId } = attempt;
    const closed = storage(
      () => terminalLog.telecollectionSince(startedAtMs, transactionId),
      "yes",
    );
    if (closed) {
      throw new AppError("REVERSAL_REFUSED", "An end of day ran since the sale.");
    }
  }
}

/** docs/design.md 3.7: the terminal and the gateway share one reservation per order. */
function assertNotReturned(attempt: Attempt): void {
  switch (returnOf(attempt)) {
    case "none":
      return;
    case "open":
      throw new AppError("GATEWAY_OPERATION_OPEN", undefined, {
        details: { ...attempt.openReturn },
      });
    case "part":
    case "all":
      throw new AppError("REVERSAL_REFUSED", "Money was returned at the gateway already.");
  }
}

/** Throws REQUEST_INVALID when the part is no part. */
function decisionOf(
  delivered: boolean,
  amountMinor: number | undefined,
  askedMinor: number,
): GoodsDecision {
  if (!delivered || amountMinor === 0) return { goods: "not-issued" };
  if (amountMinor === undefined || amountMinor === askedMinor) return { goods: "issued" };
  if (amountMinor > askedMinor) {
    const message = "amount must not be above the approved amount";
    throw new AppError("REQUEST_INVALID", message, {
      charged: "unknown",
      details: { faults: [{ field: "amount", message }] },
    });
  }
  return { goods: "partly-issued", amountMinor };
}
