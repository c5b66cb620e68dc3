import { formatFloat, parseAmount } from "../orders/amount.ts";
import { DemandRefused } from "../orders/ledger.ts";
import { maskStored } from "../orders/mask-stored.ts";
import type { Order } from "../orders/order.ts";
import type { Demand } from "../orders/order-machine.ts";
import { ParameterRefused, textOf, type Values } from "./parameters.ts";
import { type OperationContext, OperationRefused, type Result, resultCodes } from "./result.ts";

/** confirm, cancel and getDetails: docs/design.md 12.13; refunds to the card: 12.12. */

export function confirm(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  demand(context, order, { kind: "capture", amountMinor: amountOf(values, order) });
  return answer(order, "transaction has been confirmed");
}

export function cancel(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  demand(context, order, { kind: "cancel" });
  return answer(order, "transaction has been cancelled");
}

/** Three shop modules check a notification by it (docs/gateway.md 2.2). */
export function getDetails(values: Values, context: OperationContext): Result {
  const order = transactionOf(values, context);
  return {
    ...answer(order, "N/A"),
    transactionStatus: order.state,
    amount: formatFloat(order.amountMinor, order.decimals),
    currency: order.currency,
  };
}

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

/** Texts on success: docs/gateway.md 2.4. */
function answer({ transactionPublicId }: Order, description: string): Result {
  return { transactionPublicId, code: resultCodes.ok, description };
}

/**
 * The merchant's order that a request names, by transaction or else by the merchant's reference.
 * Another merchant's order is as unknown as none.
 */
function transactionOf(values: Values, { account, orders }: OperationContext): Order {
  const publicId = textOf(values, "transactionPublicId");
  const reference = textOf(values, "merchantReference");
  if (publicId === "" && reference === "") {
    throw new ParameterRefused("transactionPublicId", "mandatory parameter is missing", true);
  }
  const order =
    publicId === ""
      ? orders.byReference(account.login, maskStored(reference))
      : orders.byPublicId(publicId.toUpperCase());
  const field = publicId === "" ? "merchantReference" : "transactionPublicId";
  if (order?.login !== account.login) throw new ParameterRefused(field, "no such transaction");
  const websiteId = textOf(values, "websiteId");
  if (websiteId !== "" && Number(websiteId) !== order.websiteId) {
    throw new ParameterRefused("websiteId", `the transaction is not of website ${websiteId}`);
  }
  return order;
}

/** The amount of a partial capture or refund; nothing stands for all of it. */
function amountOf(values: Values, { currency, decimals }: Order): number | undefined {
  const given = textOf(values, "currency");
  if (given !== "" && given !== currency) {
    throw new ParameterRefused("currency", `the transaction is in ${currency}`);
  }
  const text = textOf(values, "amount");
  if (text === "") return undefined;
  const amountMinor = parseAmount(text, decimals);
  if (amountMinor === undefined || amountMinor === 0) {
    throw new ParameterRefused("amount", `it must be positive with at most ${decimals} decimals`);
  }
  return amountMinor;
}

/** Carries a demand out, or refuses the operation with a code and the reason. */
function demand({ ledger }: OperationContext, order: Order, wanted: Demand): Order {
  try {
    return ledger.demand(order, wanted);
  } catch (error) {
    if (!(error instanceof DemandRefused)) throw error;
    if (error.objection.amount) throw new ParameterRefused("amount", error.objection.because);
    throw new OperationRefused(resultCodes.stateForbids, error.message);
  }
}
