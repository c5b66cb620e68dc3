import { AppError } from "../../shared/catalog/errors.ts";
import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import { type Stored, sameTerminal } from "../attempts/comparison.ts";
import { invalid, storage } from "../attempts/failures.ts";
import {
  type Attempt,
  type AttemptStep,
  isCharged,
  isNotCharged,
  isPaying,
  isReversed,
  isUnconfirmed,
  isWithoutGoods,
} from "../attempts/payment.ts";
import { chargedOf, isInDoubt, rowOf } from "../attempts/phase-table.ts";
import type { Journal } from "../journal/journal.ts";
import { freshnessOf, isReversalSpent, type SaleToReverse } from "../matching/fresh-number.ts";
import type { Matcher } from "../matching/matcher.ts";
import type { StoreGuard } from "../supervisor/store-guard.ts";
import type { GoodsDecision } from "../terminal/terminal.ts";
import type { Orders, PaymentResult } from "./orders.ts";

interface AfterSaleParts {
  readonly journal: Journal;
  readonly matcher: Matcher;
  readonly arbiter: TerminalArbiter;
  readonly orders: Orders;
  readonly guard: StoreGuard;
}

/** What can follow a sale that was approved: the report about its goods, or its reversal. */
export class AfterSale {
  readonly #parts: AfterSaleParts;

  constructor(parts: AfterSaleParts) {
    this.#parts = parts;
  }

  /**
   * Reverses a charged order on the terminal, once (docs/rules/07-returns.md). An order that is
   * already reversed gets its stored answer. Throws {@link AppError} when no command was sent,
   * NOT_SUPPORTED at once when the protocol has no reversal (docs/rules/25-one-way.md), and
   * REVERSAL_REFUSED when the terminal reports that the sale was not reversed.
   */
  async reverse(orderId: string): Promise<PaymentResult> {
    const { orders, arbiter } = this.#parts;
    const lack = arbiter.lease.lackOf("reverse");
    if (lack && !isReversed(orders.decisive(orderId).state)) throw lack;
    const attempt = await orders.decisiveAfterProbe(orderId);
    if (rowOf(attempt).reversal === "answer") return orders.result(attempt, true);
    this.#assertReversible(attempt);
    const end = await arbiter.commands.reverse(orderId, (now) => this.#reversible(orderId, now));
    if (isCharged(end.state)) {
      throw new AppError("REVERSAL_REFUSED", "The terminal did not reverse the sale.");
    }
    // If another attempt of the order is charged, its answer is returned (docs/rules/19-late.md).
    const spoken = orders.decisive(orderId, true);
    return orders.result(chargedOf(spoken) === "no" ? end : spoken, false);
  }

  /**
   * Whether no reversal of the order can be sent: this terminal has none, the sale's terminal or
   * number is not known, or an earlier reversal may have been carried out. `events`: those of the
   * attempt.
   */
  lacksReversal(attempt: Attempt, events: readonly AttemptStep[]): boolean {
    if (this.#parts.arbiter.lease.lackOf("reverse")) return true;
    const sale = namedSale(attempt);
    return typeof sale === "string" || isReversalSpent(sale.report, events);
  }

  /**
   * Records whether the goods of an approved sale came out, and answers when the terminal has
   * completed the sale (docs/design.md 5.12). `amountMinor`: only goods of this value came out.
   */
  async deliver(
    orderId: string,
    delivered: boolean,
    amountMinor: number | undefined,
  ): Promise<PaymentResult> {
    const { orders, arbiter, journal } = this.#parts;
    const attempt = orders.decisive(orderId);
    // The archive keeps the outcome of a two-phase sale, and not that it was one.
    const isTwoPhase = storage(() => journal.attempts.ofOrder(orderId), "unknown").some(
      ({ request, state }) => request.delivery || isWithoutGoods(state),
    );
    if (!isTwoPhase) {
      const lack = arbiter.lease.lackOf("decideGoods");
      if (lack) throw lack;
      throw new AppError("DELIVERY_DECIDED", "The order was not asked for as a two-phase sale.", {
        charged: chargedOf(attempt),
      });
    }
    const decision = decisionOf(delivered, amountMinor, attempt.request.amountMinor);
    if (decision.goods === "partly-issued" && !arbiter.terminal.capabilities.partialIssue) {
      throw new AppError("NOT_SUPPORTED", "This terminal cannot charge a part of an approval.", {
        charged: chargedOf(attempt),
      });
    }
    const taken = arbiter.running.decide(orderId, decision);
    if (taken === undefined) return this.#decidedBefore(orderId, decision);
    // No goods of this attempt can be out yet: the report is about those of an earlier one.
    const isEarly = isPaying(attempt.state) && attempt.state.goods === null;
    if (isEarly) throw decided(this.#late(attempt, decision));
    // The outcome shows whether another decision, or the terminal's time limit, came first.
    await arbiter.lease.whenFree();
    if (taken === "other") {
      throw decided(this.#late(await this.#afterProbe(orderId, decision), decision));
    }
    const read = orders.decisive(orderId, true);
    const isOpen = isUnconfirmed(read.state) || isInDoubt(read.state);
    const end = isOpen ? this.#late(read, decision) : read;
    if (decision.goods !== "not-issued" && isNotCharged(end.state)) throw decided(end);
    return orders.result(end, false);
  }

  /** Repeats the stored answer if it has the same decision; otherwise throws DELIVERY_DECIDED. */
  async #decidedBefore(orderId: string, decision: GoodsDecision): Promise<PaymentResult> {
    const attempt = await this.#afterProbe(orderId, decision);
    const { state } = attempt;
    // A reversed order refuses each decision: its reversal is the answer, and not its goods.
    const amounts = isCharged(state) ? [state.report.amountMinor, state.goodsMinor] : [];
    const isAgain = {
      issued: isCharged(state),
      "not-issued": isNotCharged(state),
      "partly-issued": "amountMinor" in decision && amounts.includes(decision.amountMinor),
    };
    const isSame = isAgain[decision.goods];
    const isDone = isSame && isNotCharged(state) && !isUnconfirmed(state);
    const now = isDone ? attempt : this.#late(attempt, decision);
    if (isSame) return await this.#parts.orders.result(now, true);
    throw decided(now);
  }

  /** Returns the attempt that decides the order's answer, after the terminal has been asked. */
  async #afterProbe(orderId: string, decision: GoodsDecision): Promise<Attempt> {
    const { orders } = this.#parts;
    return await orders.decisiveAfterProbe(orderId).catch((error: unknown) => {
      // Nobody knows yet whether the order is charged; the decision counts all the same.
      this.#late(orders.decisive(orderId), decision);
      throw error;
    });
  }

  /** Keeps a decision that came too late, on disk; returns the attempt that then decides. */
  #late(attempt: Attempt, decision: GoodsDecision): Attempt {
    const { arbiter, orders } = this.#parts;
    storage(() => arbiter.running.decideLate(attempt, decision), chargedOf(attempt));
    return orders.decisive(attempt.request.orderId, true);
  }

  /**
   * Returns the sale to reverse if it was made on the connected terminal and its receipt number
   * names this sale alone (docs/rules/07-returns.md, docs/rules/16-fresh.md). `now` is the
   * terminal's baseline for the reversal. Throws {@link AppError}; no command was sent then. Called
   * only when this reversal has the terminal: an earlier call may have reversed the sale meanwhile.
   */
  #reversible(orderId: string, now: Stored): SaleToReverse {
    const { journal, matcher, orders } = this.#parts;
    const attempt = orders.decisive(orderId);
    this.#assertReversible(attempt);
    const { startedAtMs, transactionId } = attempt;
    const sale = namedSale(attempt);
    if (typeof sale === "string") throw new AppError("REVERSAL_REFUSED", sale);
    if (!sameTerminal(sale.identity, now.identity)) {
      throw new AppError("REVERSAL_REFUSED", "Another terminal is connected than at the sale.");
    }
    if (storage(() => journal.terminalLog.wasClosedSince(startedAtMs, transactionId), "yes")) {
      throw new AppError("REVERSAL_REFUSED", "An end of day ran since the sale.");
    }
    const sold = { transactionId, report: sale.report };
    const verdict = storage(() => freshnessOf(sold, now, journal, matcher.isShared), "yes");
    switch (verdict.freshness) {
      case "fresh":
        return { attempt, reversedBefore: null };
      case "reversed":
        return { attempt, reversedBefore: verdict.report };
      case "stale": {
        const { because } = verdict;
        const message = `${because.charAt(0).toUpperCase()}${because.slice(1)}.`;
        throw new AppError("REVERSAL_NOT_SAFE", message, { details: { because } });
      }
    }
  }

  /**
   * Throws if the order has a cancel or refund, because terminal and gateway share one reservation
   * for each order (docs/rules/07-returns.md); while a journal gap may hide a refund
   * (docs/rules/34-journal-gap.md); and for a sale that the terminal has already reversed
   * (docs/rules/16-fresh.md).
   */
  #assertReversible(attempt: Attempt): void {
    const { reversal } = rowOf(attempt);
    const { openReturn, returnedSome } = attempt;
    if (reversal !== "begin") {
      const code = reversal === "answer" ? "REVERSAL_REFUSED" : reversal;
      const isReturned = code === "REVERSAL_REFUSED" && returnedSome;
      const message = isReturned ? "Money was returned at the gateway already." : undefined;
      throw new AppError(code, message, { details: { ...openReturn } });
    }
    this.#parts.guard.assertNotReturned(attempt, "gateway");
  }
}

/** Returns the report of a charged sale and its terminal, or why a reversal cannot name them. */
function namedSale({ state, baseline }: Attempt) {
  // The archive and an import have no baseline.
  if (baseline === null) return "Which terminal made the sale is not known any more.";
  if (isCharged(state) && state.report.receiptNumber !== null) {
    return { report: state.report, identity: baseline.identity };
  }
  const isSettled = "settled" in state && state.settled !== undefined;
  const why = isSettled ? "An operator settled this order" : "The terminal gave none";
  return `${why}: the sale's receipt number is not known.`;
}

function decided(attempt: Attempt): AppError {
  return new AppError("DELIVERY_DECIDED", undefined, { charged: chargedOf(attempt) });
}

/** Returns the decision about the goods. Throws REQUEST_INVALID above the approved amount. */
function decisionOf(
  delivered: boolean,
  amountMinor: number | undefined,
  askedMinor: number,
): GoodsDecision {
  if (!delivered || amountMinor === 0) return { goods: "not-issued" };
  if (amountMinor === undefined || amountMinor === askedMinor) return { goods: "issued" };
  if (amountMinor > askedMinor) {
    const message = "amount must not be above the approved amount";
    throw invalid("amount", message, { text: message, charged: "unknown" });
  }
  return { goods: "partly-issued", amountMinor };
}
