import { formatMajor } from "../../../shared/money.ts";
import type { Order, OrderOperation, OrderState } from "../orders/order.ts";
import { textOf } from "../soap/parameters.ts";

/** The smallest transaction id. Like real transaction ids, it needs more than 32 bits. */
const TRANSACTION_ID_BASE = 155_000_000_000;
const OPERATION_ID_BASE = 820_000_000;

export function orderIdOf(transaction: number): number {
  return transaction - TRANSACTION_ID_BASE;
}

/** The values of the v3 fields `state` and `status`; the numbers of `status` are invented. */
const states: Readonly<Record<OrderState, readonly [state: string, status: number]>> = {
  created: ["pending", 1],
  waiting: ["waiting", 9],
  authorized: ["completed", 2],
  captured: ["completed", 3],
  cancelled: ["completed", 4],
  refunded: ["completed", 5],
  reversed: ["completed", 6],
  declined: ["declined", 7],
  aborted: ["declined", 8],
};

/** The v3 names of operation types; v3 reports no authorizations and no cancellations. */
const operationTypes: Readonly<Partial<Record<OrderOperation["type"], string>>> = {
  capture: "CAPTURE",
  refund: "REFUND",
  reject: "CHGBCK",
};

/** Returns the v3 transaction object (docs/design.md 12.19; docs/gateway.md 4.6). */
export function transactionView(order: Order, operations: readonly OrderOperation[]) {
  const [state, status] = states[order.state];
  const amount = (minor: number): string => formatMajor(minor, order.decimals);
  const authorized = operations.find((one) => one.type === "authorization" && one.status === "ok");
  const chargebacks = operations.filter(({ type }) => type === "reject");
  return {
    id: TRANSACTION_ID_BASE + order.id,
    order: orderObject(order),
    attemptid: 1,
    merchant_order_id: order.merchantReference,
    state,
    status,
    reason: null,
    eci: order.enrolled3ds ? 5 : 7,
    amount: amount(order.amountMinor),
    captured_amount: amount(order.capturedMinor),
    refunded_amount: amount(order.refundedMinor),
    credited_amount: amount(0),
    chargebacked_amount: amount(chargebacks.reduce((sum, { amountMinor }) => sum + amountMinor, 0)),
    acquirer: { transaction_reference: authorized ? order.transactionPublicId : null },
    issuer: { fullname: "", institution: "", country: order.cardCountry },
    card: cardObject(order),
    device: { id: null, ip_address: textOf(order.fields, "customerIpAddress") },
    forward_url: "",
    customer_country: order.customerCountry,
    date_created: isoDate(order.receivedAt),
    date_updated: isoDate(order.updatedAt),
    date_authorized: authorized ? isoDate(authorized.createdAt) : null,
    mid: order.websiteId,
    operations: operations.flatMap((operation) => operationObject(order, operation)),
    authorized_amount: amount(authorized?.amountMinor ?? 0),
    currency: order.currency,
    decimals: order.decimals,
    fraud_reported_by_acquirer: operations.some(({ fraudAt }) => fraudAt !== ""),
  };
}

export function orderObject(order: Order): Readonly<Record<string, unknown>> {
  return {
    id: order.merchantReference,
    attempts: 1,
    amount: formatMajor(order.amountMinor, order.decimals),
    shipping: formatMajor(0, order.decimals),
    tax: formatMajor(0, order.decimals),
    customer: { email: order.customerEmail, ip_address: textOf(order.fields, "customerIpAddress") },
    shipping_to: {},
    date_created: isoDate(order.receivedAt),
    currency: order.currency,
    decimals: order.decimals,
    terminal_information: null,
    billing_to: null,
    custom_data: Object.fromEntries(order.freeData.map(({ key, value }) => [key, value])),
  };
}

function cardObject({ card, paymentMethod }: Order): Readonly<Record<string, unknown>> | null {
  if (card === "") return null;
  return {
    pan: card,
    last_digits: card.slice(-4),
    scheme: paymentMethod,
    category: "CONSUMER",
    type: "CREDIT",
    bin: Number(card.slice(0, 6)),
    token: "",
  };
}

function operationObject(order: Order, operation: OrderOperation): Record<string, unknown>[] {
  const type = operationTypes[operation.type];
  if (type === undefined) return [];
  return [
    {
      type,
      status: operation.status === "nok" ? "FAILURE" : "COMPLETED",
      amount: formatMajor(operation.amountMinor, order.decimals),
      arn: "",
      merchant_reference: order.merchantReference,
      date_created: isoDate(operation.createdAt),
      date_updated: isoDate(operation.updatedAt),
      ...(operation.fraudAt !== "" && { date_fraud_by_acquirer: isoDate(operation.fraudAt) }),
      id: OPERATION_ID_BASE + operation.id,
      currency: order.currency,
      decimals: order.decimals,
    },
  ];
}

/** Returns a stored time as ISO 8601 with an offset and without fractions of a second. */
function isoDate(stored: string): string {
  return stored.replace(/(\.\d+)?Z$/, "+00:00");
}
