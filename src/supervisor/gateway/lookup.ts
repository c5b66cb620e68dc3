import { z } from "zod";
import { parseJson } from "../../shared/json.ts";
import { maskPansInValue } from "../../shared/masking/mask.ts";
import { type Currency, currencyOf, parseAmount } from "../../shared/money.ts";
import { readOr } from "../../shared/read-or.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { judgeStatus, type Verdict } from "./faults.ts";
import type { Exchange } from "./http-connections.ts";

/** The members of the v3 transaction object that are read (docs/gateway.md 4.6). */
export const transactionSchema = z.looseObject({
  id: z.int(),
  merchant_order_id: z.string().optional(),
  order: z.looseObject({ id: z.union([z.string(), z.int()]).optional() }).nullish(),
  amount: z.string().optional(),
  captured_amount: z.string().optional(),
  refunded_amount: z.string().optional(),
  currency: z.string().optional(),
});

export type GatewayTransaction = Readonly<ReturnType<typeof gatewayTransactionOf>>;

export interface LookupAnswer {
  readonly outcome: "found" | "not-found" | "failed";
  /** Why the transaction was not found; empty: it was found. */
  readonly description: string;
  readonly httpStatus: number | null;
  readonly found?: GatewayTransaction;
}

const TRANSACTION_UNKNOWN = 3_000_002; // docs/gateway.md 4.5
const ORDER_UNKNOWN = 3_000_001;

/** Reads the answer to the v3 lookup of a transaction (docs/rules/21-agree.md). Pure. */
export function readLookup(exchange: Exchange): LookupAnswer {
  const json = bodyOf(exchange);
  const { httpStatus, description } = judgeStatus(exchange);
  if (httpStatus === 404 && hasCode(json, TRANSACTION_UNKNOWN)) {
    const says = "the gateway knows no such transaction";
    return { outcome: "not-found", httpStatus, description: says };
  }
  const parsed = httpStatus === 200 ? transactionSchema.safeParse(json).data : undefined;
  if (parsed) {
    return { outcome: "found", httpStatus, description: "", found: gatewayTransactionOf(parsed) };
  }
  const message = z.object({ message: z.string() }).safeParse(json).data?.message;
  const says = message ? `${description}: ${message}` : description;
  return { outcome: "failed", httpStatus, description: says };
}

function bodyOf(exchange: Exchange): unknown {
  return exchange.kind === "answered" ? parseJson(exchange.body) : undefined;
}

/** The HTTP statuses of a server that does not know the address of a lookup. */
const addressRefused: readonly number[] = [400, 404, 405];

/** Returns whether the gateway knows the address of the lookup (docs/gateway.md 4.3). */
export function isUnderstood(exchange: Exchange): boolean {
  if (exchange.kind === "failed" || !addressRefused.includes(exchange.httpStatus)) return true;
  const json = bodyOf(exchange);
  const isKnown = hasCode(json, TRANSACTION_UNKNOWN) || hasCode(json, ORDER_UNKNOWN);
  return exchange.httpStatus === 404 && isKnown;
}

function hasCode(json: unknown, code: number): boolean {
  return z.object({ code: z.literal(code) }).safeParse(json).success;
}

/**
 * Returns a transaction of the gateway: the whole object with card numbers masked, our transaction
 * id from the free data, and amounts in minor units; null: the gateway does not name the value.
 */
function gatewayTransactionOf(found: z.infer<typeof transactionSchema>) {
  const currency = found.currency ? currencyOf(found.currency) : undefined;
  const custom = z
    .object({ custom_data: z.object({ transactionId: z.string() }) })
    .safeParse(found.order);
  return {
    transaction: maskPansInValue(found) as Record<string, unknown>,
    orderId: orderIdOf(found),
    transactionId: custom.data?.custom_data.transactionId ?? null,
    currency: currency?.alpha ?? null,
    exponent: currency?.exponent ?? 2,
    amountMinor: minorOf(found.amount, currency),
    capturedMinor: minorOf(found.captured_amount, currency),
    refundedMinor: minorOf(found.refunded_amount, currency),
  };
}

/** Returns the order id that a v3 transaction object names; null: the object names no order. */
export function orderIdOf({
  merchant_order_id: ours,
  order,
}: Pick<z.infer<typeof transactionSchema>, "merchant_order_id" | "order">): string | null {
  return ours ?? (order?.id === undefined ? null : String(order.id));
}

/** The members of the v3 order object that are read (docs/gateway.md 4.6). */
const orderSchema = z.looseObject({
  id: z.union([z.string(), z.int()]).optional(),
  amount: z.string().optional(),
  currency: z.string().optional(),
  custom_data: z.looseObject({ transactionId: z.string().optional() }).nullish(),
});

export type OrderFinding =
  /** The gateway has the order, with our transaction id, amount and currency. */
  | { readonly kind: "ours" }
  /** The gateway has an order with our order id that is not, or not provably, this order. */
  | { readonly kind: "other"; readonly why: string }
  | { readonly kind: "absent" }
  /** The lookup gave no answer; `refused`: the gateway has no such lookup, or does not allow it. */
  | { readonly kind: "unanswered"; readonly verdict: Verdict; readonly refused: boolean };

/** Reads the answer of the v3 order lookup about this transaction. Pure. */
export function readOrderLookup(exchange: Exchange, transaction: Transaction): OrderFinding {
  const json = bodyOf(exchange);
  const verdict = judgeStatus(exchange);
  const { httpStatus } = verdict;
  if (httpStatus === 404 && hasCode(json, ORDER_UNKNOWN)) return { kind: "absent" };
  const order = httpStatus === 200 ? orderSchema.safeParse(json).data : undefined;
  const notOffered = httpStatus !== null && (httpStatus < 400 || isRefusal(httpStatus));
  const unanswered = { kind: "unanswered", verdict, refused: notOffered } as const;
  return (order && compared(order, transaction)) ?? unanswered;
}

/**
 * Returns whether no member that a transaction of the gateway names differs from our order
 * (docs/rules/21-agree.md). The transaction was looked up by its own id, so that members which it
 * does not name prove nothing against it.
 */
export function agrees(found: GatewayTransaction, owner: Transaction): boolean {
  const members = ["orderId", "transactionId", "currency", "amountMinor"] as const;
  return members.every((name) => found[name] === null || found[name] === owner[name]);
}

/** Compares an order of the gateway with ours; undefined: it does not name our order. */
function compared(
  { id, amount, currency, custom_data: custom }: z.infer<typeof orderSchema>,
  transaction: Transaction,
): OrderFinding | undefined {
  const { orderId, transactionId } = transaction;
  if (id !== undefined && String(id) !== orderId) return undefined;
  const named = custom?.transactionId;
  if (id === undefined && named !== transactionId) return undefined;
  if (named === undefined) return other("it does not name our transaction id");
  if (named !== transactionId) return other("it is of another transaction");
  if (currency !== transaction.currency) return other(`its currency is ${currency ?? "not named"}`);
  if (minorOf(amount, currencyOf(currency)) !== transaction.amountMinor) {
    return other(`its amount is ${amount ?? "not named"}`);
  }
  return { kind: "ours" };
}

function other(why: string): OrderFinding {
  return { kind: "other", why: `the gateway has an order of this number, but ${why}` };
}

/** Returns an amount in minor units; null: the text is unreadable or has too many decimals. */
function minorOf(amount: string | undefined, currency: Currency | undefined): number | null {
  if (!currency || amount === undefined || !/^\d{1,12}(\.\d{1,4})?$/.test(amount)) return null;
  if (/^0+(\.0+)?$/.test(amount)) return 0;
  return readOr(null, () => parseAmount(amount, currency, 12));
}

/** Returns whether a status refuses the request for good; 408 and 429 refuse it only for now. */
function isRefusal(httpStatus: number): boolean {
  const momentary = httpStatus === 408 || httpStatus === 429;
  return (httpStatus >= 400 && httpStatus < 500 && !momentary) || httpStatus === 501;
}
