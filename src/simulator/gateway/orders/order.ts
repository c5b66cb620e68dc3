import currencyCodes from "currency-codes";
import { formatMajor } from "../../../shared/money.ts";
import type { Values } from "../soap/parameters.ts";

const open = ["created", "waiting"] as const;

/**
 * For each change of an order: the states that allow it, the operation that it adds to the history
 * (docs/design.md 12.18) and the next state (12.16). The names `waiting` (not decided yet),
 * `declined` and `aborted` (never paid) are invented: the real names are not public.
 */
const moves = {
  wait: { from: ["created"], type: "authorization", status: "waiting", to: "waiting" },
  authorize: { from: open, type: "authorization", status: "ok", to: "authorized" },
  decline: { from: open, type: "authorization", status: "nok", to: "declined" },
  abort: { from: open, type: "authorization", status: "cancel", to: "aborted" },
  capture: { from: ["authorized"], type: "capture", status: "ok", to: "captured" },
  cancel: { from: ["authorized"], type: "cancellation", status: "ok", to: "cancelled" },
  refund: { from: ["captured"], type: "refund", status: "ok", to: "refunded" },
  /** The cardholder's bank takes back all of the amount that was not refunded before. */
  reject: { from: ["captured"], type: "reject", status: "ok", to: "reversed" },
} as const;
type Move = (typeof moves)[keyof typeof moves];

export type OrderState = "created" | Move["to"];

export interface FreeDatum {
  readonly key: string;
  readonly value: string;
}

/** How an order was paid, without the card's number; the texts are empty before the payment. */
export interface Payment {
  readonly paymentMethod: string;
  /** The masked card number. */
  readonly card: string;
  readonly cardCountry: string;
  readonly enrolled3ds: boolean;
  readonly customerEmail: string;
  readonly customerCountry: string;
}

export interface OrderOperation {
  readonly id: number;
  readonly type: Move["type"];
  readonly status: Move["status"];
  readonly amountMinor: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When the acquirer reported the operation as fraud; "": it was not reported. */
  readonly fraudAt: string;
}

export interface NewOrder {
  readonly login: string;
  readonly websiteId: number;
  readonly merchantReference: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly decimals: number;
  readonly manualCapture: boolean;
  readonly customerEmail: string;
  readonly freeData: readonly FreeDatum[];
  /** Every parameter of the request, without secrets. */
  readonly fields: Values;
}

export interface Order extends NewOrder, Payment {
  readonly id: number;
  /** The transaction id for merchants, 16 upper-case hex digits. */
  readonly transactionPublicId: string;
  /** The last part of the payment page's address, 32 hex digits. */
  readonly pageId: string;
  readonly state: OrderState;
  readonly capturedMinor: number;
  readonly refundedMinor: number;
  readonly receivedAt: string;
  readonly updatedAt: string;
  /** How many requests of the SOAP operation generate had this merchant reference. */
  readonly requests: number;
}

/** A demand for a change of an order, made by the merchant, the customer or a bank. */
export interface Demand {
  readonly kind: keyof typeof moves;
  /** The amount of a capture or refund in minor units; missing: all that is left. */
  readonly amountMinor?: number | undefined;
}

/** What a demand changes: the operation added to the history, and the order's new values. */
export interface Step extends Pick<OrderOperation, "type" | "status" | "amountMinor"> {
  readonly next: Pick<Order, "state" | "capturedMinor" | "refundedMinor">;
}

/** The refusal of a demand that the order's state or amounts do not allow. */
export class DemandRefused extends Error {
  override readonly name = "DemandRefused";
  readonly because: string;
  /** Whether the demand would be accepted with another amount. */
  readonly amount: boolean;

  constructor({ transactionPublicId }: Order, because: string, amount = false) {
    super(`transaction ${transactionPublicId}: ${because}`);
    this.because = because;
    this.amount = amount;
  }
}

/**
 * Returns the change that a demand makes to an order. An order is captured only once; what a
 * capture leaves of the authorized amount cannot be captured later. Throws {@link DemandRefused}.
 */
export function decide(order: Order, { kind, amountMinor: wanted }: Demand): Step {
  const { from, type, status, to } = moves[kind];
  if (!(from as readonly string[]).includes(order.state))
    throw new DemandRefused(order, stateRefusal(kind, order));
  const isCaptured = order.state === "captured";
  const left = isCaptured ? order.capturedMinor - order.refundedMinor : order.amountMinor;
  const amountMinor = wanted ?? left;
  if (amountMinor > left) {
    const most = isCaptured ? "captured and not yet refunded" : "authorized";
    throw new DemandRefused(order, `more than was ${most}`, true);
  }
  if (amountMinor === 0) throw new DemandRefused(order, `nothing to ${kind}`, true);
  const isPartRefunded = kind === "refund" && amountMinor < left;
  const next = {
    state: isPartRefunded ? order.state : to,
    capturedMinor: kind === "capture" ? amountMinor : order.capturedMinor,
    refundedMinor: kind === "refund" ? order.refundedMinor + amountMinor : order.refundedMinor,
  };
  return { type, status, amountMinor, next };
}

function stateRefusal(kind: Demand["kind"], { state }: Order): string {
  const { from, type } = moves[kind];
  if (type === "authorization") return `it is already ${state}`;
  if (kind === "cancel" && state === "captured") return "it is captured: refund it instead";
  return `it is ${state}, not ${from[0]}`;
}

/** Returns the number of decimals of a currency (ISO 4217); undefined: no such currency. */
export function currencyDecimals(currency: string): number | undefined {
  return currencyCodes.code(currency)?.digits;
}

const AMOUNT_DIGITS_MAX = 15;

/**
 * Returns the minor units of a decimal text, perhaps with an exponent as in an xsd:float, without
 * floating point. undefined: no number, negative, too long or with more decimals than the currency.
 */
export function parseAmount(text: string, decimals: number): number | undefined {
  const match = /^\+?(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (!match || match[1] === undefined || match[2] === undefined) return undefined;
  const digits = match[1] + match[2];
  if (digits === "") return undefined;
  const shift = Number(match[3] ?? 0) - match[2].length + decimals;
  if (shift >= 0) return minorUnits(digits.padEnd(digits.length + Math.min(shift, 400), "0"));
  const kept = digits.slice(0, Math.max(digits.length + shift, 0));
  const cut = digits.slice(kept.length);
  return /^0*$/.test(cut) ? minorUnits(kept) : undefined;
}

function minorUnits(digits: string): number | undefined {
  const significant = digits.replace(/^0+/, "");
  return significant.length > AMOUNT_DIGITS_MAX ? undefined : Number(significant);
}

/** Returns an amount as an xsd:float, without zeros at the end ("9.9"; docs/gateway.md 2.3). */
export function formatFloat(minor: number, decimals: number): string {
  const text = formatMajor(minor, decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * Returns an order as `GET /sandbox/orders` shows it. Amounts are decimal texts in major units,
 * with the currency's decimals; `page` is the path of the payment page.
 */
export function orderView(order: Order) {
  const amount = (minor: number): string => formatMajor(minor, order.decimals);
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
