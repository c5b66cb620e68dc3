import { formatAmount } from "./amount.ts";
import type { Order } from "./order.ts";

/** An order as `GET /sandbox/orders` shows it. */
export interface OrderView {
  readonly id: number;
  readonly transactionPublicId: string;
  readonly merchantReference: string;
  readonly websiteId: number;
  /** Decimal text in major units, with the currency's decimals. */
  readonly amount: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly state: string;
  readonly manualCapture: boolean;
  readonly capturedAmount: string;
  readonly refundedAmount: string;
  readonly paymentMethod: string;
  readonly card: string;
  readonly freeData: Readonly<Record<string, string>>;
  readonly fields: Order["fields"];
  /** Path of the payment page. */
  readonly page: string;
  readonly receivedAt: string;
  readonly updatedAt: string;
  /** How often a generate request with this merchant reference arrived. */
  readonly requests: number;
}

export function orderView(order: Order): OrderView {
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
