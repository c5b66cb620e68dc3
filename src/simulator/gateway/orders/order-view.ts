import { formatAmount } from "./amount.ts";
import type { Order } from "./order.ts";

/**
 * An order as `GET /sandbox/orders` shows it. Amounts are decimal text in major units, with the
 * currency's decimals; `page` is the path of the payment page.
 */
export function orderView(order: Order) {
  const amount = (minor: number): string => formatAmount(minor, order.decimals);
  return {
    id: order.id,
    transactionPublicId: order.transactionPublicId,
    merchantReference: order.merchantReference,
    websiteId: order.websiteId,
    amount: amount(order.amountMinor),
    amountMinor: order.amountMinor,
    currency: order.currency,
    state: order.state,
    manualCapture: order.manualCapture,
    capturedAmount: amount(order.capturedMinor),
    refundedAmount: amount(order.refundedMinor),
    paymentMethod: order.paymentMethod,
    card: order.card,
    freeData: Object.fromEntries(order.freeData.map(({ key, value }) => [key, value])),
    fields: order.fields,
    page: `/index/ws/id/${order.pageId}`,
    receivedAt: order.receivedAt,
    updatedAt: order.updatedAt,
    requests: order.requests,
  };
}
