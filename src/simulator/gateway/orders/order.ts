import currencyCodes from "currency-codes";
import type { Values } from "../soap/parameters.ts";

/**
 * The state of an order (docs/design.md 12.16). `waiting` is a payment that is not decided yet,
 * `declined` and `aborted` end an order that was never paid; their names are not published.
 */
export type OrderState =
  | "created"
  | "waiting"
  | "authorized"
  | "captured"
  | "cancelled"
  | "refunded"
  | "reversed"
  | "declined"
  | "aborted";

/** The operation types of notifications (docs/design.md 12.18). */
type OperationType = "authorization" | "capture" | "cancellation" | "refund" | "reject";

type OperationStatus = "ok" | "nok" | "cancel" | "waiting";

export interface FreeDatum {
  readonly key: string;
  readonly value: string;
}

/** How an order was paid, without the card's number; the texts are empty before that. */
export interface Payment {
  readonly paymentMethod: string;
  /** Masked card number. */
  readonly card: string;
  readonly cardCountry: string;
  readonly enrolled3ds: boolean;
  readonly customerEmail: string;
  readonly customerCountry: string;
}

/** One entry of an order's history. */
export interface OrderOperation {
  readonly id: number;
  readonly type: OperationType;
  readonly status: OperationStatus;
  readonly amountMinor: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When the acquirer reported it as fraudulent, "" when it did not. */
  readonly fraudAt: string;
}

/** The order as generate stores it. */
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
  /** Every parameter as received, without secrets. */
  readonly fields: Values;
}

export interface Order extends NewOrder, Payment {
  readonly id: number;
  /** The name that merchants know the transaction by, 16 upper-case hex digits. */
  readonly transactionPublicId: string;
  /** Last part of the payment page's address, 32 hex digits. */
  readonly pageId: string;
  readonly state: OrderState;
  readonly capturedMinor: number;
  readonly refundedMinor: number;
  readonly receivedAt: string;
  readonly updatedAt: string;
  /** How often a generate request with this merchant reference arrived. */
  readonly requests: number;
}

export type Demand =
  | { readonly kind: "wait" | "authorize" | "decline" | "abort" | "cancel" | "reject" }
  /** Without an amount: all that is left. */
  | { readonly kind: "capture" | "refund"; readonly amountMinor?: number | undefined };

type Standing = Pick<
  Order,
  "transactionPublicId" | "state" | "amountMinor" | "capturedMinor" | "refundedMinor"
>;

/** The operation that a demand makes, and the state of the order after it. */
export interface Step {
  readonly type: OperationType;
  readonly status: OperationStatus;
  readonly amountMinor: number;
  readonly next: Pick<Order, "state" | "capturedMinor" | "refundedMinor">;
}

/** A demand that the order's state or amounts do not allow. */
export class DemandRefused extends Error {
  override readonly name = "DemandRefused";
  readonly because: string;
  /** Whether another amount would be accepted. */
  readonly amount: boolean;

  constructor({ transactionPublicId }: Standing, because: string, amount = false) {
    super(`transaction ${transactionPublicId}: ${because}`);
    this.because = because;
    this.amount = amount;
  }
}

/** Returns the step that a demand makes. Throws {@link DemandRefused}. */
export function decide(order: Standing, demand: Demand): Step {
  const { state } = order;
  switch (demand.kind) {
    case "wait":
      if (state !== "created") throw new DemandRefused(order, `it is already ${state}`);
      return step(order, "authorization", order.amountMinor, { state: "waiting" }, "waiting");
    case "authorize":
      return fromOpen(order, "authorized", "ok");
    case "decline":
      return fromOpen(order, "declined", "nok");
    case "abort":
      return fromOpen(order, "aborted", "cancel");
    case "capture":
      return capture(order, demand.amountMinor);
    case "cancel":
      if (state === "captured") throw new DemandRefused(order, "it is captured: refund it instead");
      refuseUnless(order, "authorized");
      return step(order, "cancellation", order.amountMinor, { state: "cancelled" });
    case "refund":
      return refund(order, demand.amountMinor);
    case "reject": {
      // The cardholder's bank takes back all that is not refunded yet.
      refuseUnless(order, "captured");
      const amountMinor = order.capturedMinor - order.refundedMinor;
      return step(order, "reject", amountMinor, { state: "reversed" });
    }
  }
}

/** Returns the step as a failed operation, which leaves the order as it was. */
export function failed(
  { state, capturedMinor, refundedMinor }: Standing,
  { type, amountMinor }: Step,
): Step {
  return { type, status: "nok", amountMinor, next: { state, capturedMinor, refundedMinor } };
}

function refuseUnless(order: Standing, wanted: OrderState): void {
  if (order.state === wanted) return;
  throw new DemandRefused(order, `it is ${order.state}, not ${wanted}`);
}

function fromOpen(
  order: Standing,
  state: "authorized" | "declined" | "aborted",
  status: OperationStatus,
): Step {
  const isOpen = order.state === "created" || order.state === "waiting";
  if (!isOpen) throw new DemandRefused(order, `it is already ${order.state}`);
  return step(order, "authorization", order.amountMinor, { state }, status);
}

/** Captures an authorized order once; the rest of a smaller amount is given up. */
function capture(order: Standing, amountMinor = order.amountMinor): Step {
  refuseUnless(order, "authorized");
  if (amountMinor > order.amountMinor)
    throw new DemandRefused(order, "more than was authorized", true);
  if (amountMinor === 0) throw new DemandRefused(order, "nothing to capture", true);
  return step(order, "capture", amountMinor, { state: "captured", capturedMinor: amountMinor });
}

function refund(order: Standing, amount: number | undefined): Step {
  const left = order.capturedMinor - order.refundedMinor;
  const amountMinor = amount ?? left;
  refuseUnless(order, "captured");
  if (amountMinor > left) {
    throw new DemandRefused(order, "more than was captured and not yet refunded", true);
  }
  if (amountMinor === 0) throw new DemandRefused(order, "nothing to refund", true);
  const refundedMinor = order.refundedMinor + amountMinor;
  const state = amountMinor === left ? "refunded" : "captured";
  return step(order, "refund", amountMinor, { state, refundedMinor });
}

function step(
  { state, capturedMinor, refundedMinor }: Standing,
  type: OperationType,
  amountMinor: number,
  change: Partial<Step["next"]>,
  status: OperationStatus = "ok",
): Step {
  return { type, status, amountMinor, next: { state, capturedMinor, refundedMinor, ...change } };
}

/** Amounts are whole minor units inside; no float arithmetic anywhere. */

/** Returns the number of decimals of a currency (ISO 4217); undefined: no such currency. */
export function currencyDecimals(currency: string): number | undefined {
  return currencyCodes.code(currency)?.digits;
}

const AMOUNT_DIGITS_MAX = 15;

/**
 * Returns the minor units of a decimal text, also with an exponent as in an xsd:float; undefined if
 * it is no number, negative, too long or finer than the currency.
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

/** Returns an amount as decimal text: 1999 with two decimals is "19.99". */
export function formatAmount(minor: number, decimals: number): string {
  const digits = String(minor).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 ? whole : `${whole}.${digits.slice(digits.length - decimals)}`;
}

/** Returns an amount without zeros at the end, as an xsd:float ("9.9"; docs/gateway.md 2.3). */
export function formatFloat(minor: number, decimals: number): string {
  const text = formatAmount(minor, decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * Returns an order as `GET /sandbox/orders` shows it. Amounts are decimal text in major units, with
 * the currency's decimals; `page` is the path of the payment page.
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
