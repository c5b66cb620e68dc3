import { AppError } from "../../shared/errors.ts";
import { storage } from "../attempts/failures.ts";
import { type Attempt, chargedOf, returnOf } from "../attempts/payment.ts";
import { sameTerminal } from "../attempts/recovery-policy.ts";
import type { TerminalLog } from "../attempts/terminal-log.ts";
import type { TerminalDesk } from "../desk/terminal-desk.ts";
import type { Baseline, GoodsDecision } from "../terminal/terminal.ts";
import type { Orders, PaymentResult } from "./orders.ts";

interface AfterSaleParts {
  readonly terminalLog: Pick<TerminalLog, "telecollectionSince">;
  readonly desk: TerminalDesk;
  readonly orders: Orders;
}

/** Delivery and reversal, which can still follow a sale that the terminal has approved. */
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
    const { orders } = this.#parts;
    const attempt = await orders.latestAsked(orderId);
    switch (attempt.state.phase) {
      case "reversed":
        return orders.result(attempt, true);
      case "not-charged":
        throw new AppError("ORDER_NOT_CHARGED");
      case "charged":
        if (returnOf(attempt) === "all") return orders.result(attempt, true);
        assertNotReturned(attempt);
        break;
      default:
        return orders.result(attempt, true); // still unknown
    }
    const end = await this.#reverse(orderId);
    if (end.state.phase === "charged") {
      throw new AppError("REVERSAL_REFUSED", "The terminal did not reverse the sale.");
    }
    return orders.result(end, false);
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
    const { orders, desk } = this.#parts;
    const attempt = orders.latest(orderId);
    if (!attempt.request.delivery) {
      throw new AppError("DELIVERY_DECIDED", "The order was not asked for as a two-phase sale.", {
        charged: chargedOf(attempt.state),
      });
    }
    const askedMinor = attempt.request.amountMinor;
    const decision = decisionOf(delivered, amountMinor, askedMinor);
    if (decision.goods === "partly-issued" && !desk.terminal.capabilities.partialIssue) {
      throw new AppError("NOT_SUPPORTED", "This terminal cannot charge a part of an approval.", {
        charged: chargedOf(attempt.state),
      });
    }
    const word = desk.decide(orderId, decision);
    if (word === undefined) return this.#decidedBefore(orderId, decision);
    const isEarly = attempt.state.phase === "sent" && attempt.state.goods === null;
    if (isEarly) throw decided(attempt);
    // The sale's end shows what the other word, or the terminal's own window, made of the sale.
    await desk.turn.whenFree();
    if (word === "other") throw decided(await orders.latestAsked(orderId));
    const end = orders.latest(orderId);
    const inVain = decision.goods !== "not-issued" && end.state.phase === "not-charged";
    if (inVain) throw decided(end);
    return orders.result(end, false);
  }

  /** After the end of a sale the same word is harmless; another one is told the truth. */
  async #decidedBefore(orderId: string, decision: GoodsDecision): Promise<PaymentResult> {
    const { orders } = this.#parts;
    const attempt = await orders.latestAsked(orderId);
    const { state } = attempt;
    const agrees =
      (state.phase === "charged" && decision.goods !== "not-issued") ||
      (state.phase === "not-charged" && decision.goods === "not-issued");
    const sameSum =
      state.phase !== "charged" ||
      decision.goods !== "partly-issued" ||
      state.report.amountMinor === decision.amountMinor ||
      state.goodsMinor === decision.amountMinor;
    if (agrees && sameSum) return await orders.result(attempt, true);
    throw decided(attempt);
  }

  /** A refusal knows nothing of the order; its `charged` must (docs/design.md 3.10). */
  async #reverse(orderId: string): Promise<Attempt> {
    const { orders, desk } = this.#parts;
    try {
      return await desk.reverse(orderId, (now) => this.#reversible(orderId, now));
    } catch (error) {
      if (!(error instanceof AppError) || error.charged === "unknown") throw error;
      const { code, message, details } = error;
      const charged = chargedOf(orders.latest(orderId).state);
      throw new AppError(code, message, { charged, details, cause: error });
    }
  }

  /**
   * The sale to reverse: sold on this terminal, and nothing closed since (docs/design.md 3.7). Read
   * only now that nothing else can have the terminal: an earlier call may have reversed the sale.
   */
  #reversible(orderId: string, now: Baseline): Attempt {
    const { orders, terminalLog } = this.#parts;
    const attempt = orders.latest(orderId);
    const { state, startedAtMs, transactionId } = attempt;
    if (state.phase !== "charged" || state.report.receiptNumber === null) {
      throw new AppError("REVERSAL_REFUSED", "The terminal gave no receipt number for this sale.");
    }
    assertNotReturned(attempt);
    if (!attempt.baseline || !sameTerminal(attempt.baseline.identity, now.identity)) {
      throw new AppError("REVERSAL_REFUSED", "Another terminal is connected than at the sale.");
    }
    if (storage(() => terminalLog.telecollectionSince(startedAtMs, transactionId), "yes")) {
      throw new AppError("REVERSAL_REFUSED", "An end of day ran since the sale.");
    }
    return attempt;
  }
}

function decided({ state }: Attempt): AppError {
  return new AppError("DELIVERY_DECIDED", undefined, { charged: chargedOf(state) });
}

/** The terminal and the gateway share one reservation per order (docs/design.md 3.7). */
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
