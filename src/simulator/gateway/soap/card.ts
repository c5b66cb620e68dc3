import { formatFloat } from "../orders/amount.ts";
import type { Values } from "./parameters.ts";
import { type OperationContext, OperationRefused, type Result, resultCodes } from "./result.ts";
import { amountOf, demand, transactionOf } from "./transaction.ts";

const REQUESTED = "Refund to credit card request for transaction";

/** Refund to the card: docs/design.md 12.12; with an amount a part of it. */
export function card(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  const { transactionPublicId, currency, decimals } = order;
  if (order.state !== "captured") {
    // The number of this refusal is not public, its text is (docs/gateway.md 2.6).
    throw new OperationRefused(
      resultCodes.stateForbids,
      `transaction ${transactionPublicId} is not refundable to card: it is ${order.state}`,
    );
  }
  const left = order.capturedMinor - order.refundedMinor;
  const amountMinor = amountOf(values, order) ?? left;
  demand(context, order, { kind: "refund", amountMinor });
  return {
    code: resultCodes.ok,
    description: `${REQUESTED} ${transactionPublicId} has been sent !`,
    currency,
    amount: formatFloat(amountMinor, decimals),
    transactionPublicId,
  };
}
