import { z } from "zod";
import { parseJson } from "../../shared/json.ts";
import { maskPansInValue } from "../../shared/masking/mask.ts";
import { type Currency, currencyOf, parseAmount } from "../../shared/money.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { TryClass } from "./fault-table.ts";
import { type Exchange, judgeStatus, type Verdict } from "./faults.ts";

/** Fields of the v3 transaction object that this program relies on (docs/gateway.md 4.6). */
const transactionSchema = z.looseObject({
  id: z.int(),
  merchant_order_id: z.string().optional(),
  order: z.looseObject({ id: z.union([z.string(), z.int()]).optional() }).nullish(),
  amount: z.string().optional(),
  captured_amount: z.string().optional(),
  refunded_amount: z.string().optional(),
  currency: z.string().optional(),
});

/** One transaction as the gateway has it, with what is needed of it in our own units. */
export interface GatewayTransaction {
  /** The whole object, card numbers masked. */
  readonly transaction: Readonly<Record<string, unknown>>;
  readonly orderId: string | null;
  /** Our transaction id, from the free data; null: the gateway returns none. */
  readonly transactionId: string | null;
  readonly currency: string | null;
  readonly exponent: number;
  readonly amountMinor: number | null;
  readonly capturedMinor: number | null;
  readonly refundedMinor: number | null;
}

export type LookupAnswer =
  | { readonly outcome: "found"; readonly found: GatewayTransaction }
  | { readonly outcome: "not-found"; readonly description: string }
  | {
      readonly outcome: "failed";
      readonly class: TryClass;
      readonly httpStatus: number | null;
      readonly description: string;
    };

const TRANSACTION_UNKNOWN = 3_000_002; // docs/gateway.md 4.5
const ORDER_UNKNOWN = 3_000_001;

/** Reads the answer of the v3 lookup. Pure. */
export function readLookup(exchange: Exchange): LookupAnswer {
  if (exchange.kind === "failed" || exchange.body === null) {
    const { class: tryClass, httpStatus, description } = judgeStatus(exchange);
    return { outcome: "failed", class: tryClass, httpStatus, description };
  }
  const { httpStatus, body } = exchange;
  const json = parseJson(body);
  if (httpStatus === 404 && hasCode(json, TRANSACTION_UNKNOWN)) {
    return { outcome: "not-found", description: "the gateway knows no such transaction" };
  }
  const parsed = httpStatus === 200 ? transactionSchema.safeParse(json) : undefined;
  if (parsed?.success) return { outcome: "found", found: gatewayTransactionOf(parsed.data) };
  const verdict = judgeStatus(exchange);
  const message = z.object({ message: z.string() }).safeParse(json).data?.message;
  const description = message ? `${verdict.description}: ${message}` : verdict.description;
  return { outcome: "failed", class: verdict.class, httpStatus, description };
}

/** The statuses of a server that does not know the address, or reads its last part differently. */
const addressRefused: readonly number[] = [400, 404, 405];

/** false: the same question may be understood at the other address (docs/gateway.md 4.3). */
export function isUnderstood(exchange: Exchange): boolean {
  if (exchange.kind === "failed" || !addressRefused.includes(exchange.httpStatus)) return true;
  const json = parseJson(exchange.body);
  const isKnown = hasCode(json, TRANSACTION_UNKNOWN) || hasCode(json, ORDER_UNKNOWN);
  return exchange.httpStatus === 404 && isKnown;
}

function hasCode(json: unknown, code: number): boolean {
  return z.object({ code: z.literal(code) }).safeParse(json).success;
}

function gatewayTransactionOf(found: z.infer<typeof transactionSchema>): GatewayTransaction {
  const currency = found.currency ? currencyOf(found.currency) : undefined;
  const order = found.order?.id;
  const custom = z
    .object({ custom_data: z.object({ transactionId: z.string() }) })
    .safeParse(found.order);
  return {
    transaction: maskPansInValue(found) as Record<string, unknown>,
    orderId: found.merchant_order_id ?? (order === undefined ? null : String(order)),
    transactionId: custom.data?.custom_data.transactionId ?? null,
    currency: currency?.alpha ?? null,
    exponent: currency?.exponent ?? 2,
    amountMinor: minorOf(found.amount, currency),
    capturedMinor: minorOf(found.captured_amount, currency),
    refundedMinor: minorOf(found.refunded_amount, currency),
  };
}

/** Members of the v3 order object that this program relies on (docs/gateway.md 4.6). */
const orderSchema = z.looseObject({
  id: z.union([z.string(), z.int()]).optional(),
  amount: z.string().optional(),
  currency: z.string().optional(),
  custom_data: z.looseObject({ transactionId: z.string().optional() }).nullish(),
});

/** The answer to the question whether the gateway has the order of one transaction. */
export type OrderFinding =
  /** The gateway has it: our transaction id, amount and currency. */
  | { readonly kind: "ours" }
  /** The gateway has an order of this number that is not, or not provably, this one. */
  | { readonly kind: "other"; readonly why: string }
  | { readonly kind: "absent" }
  /** Nothing was learnt. */
  | {
      readonly kind: "unanswered";
      readonly verdict: Verdict;
      /** The lookup does not exist here, or is not allowed to us: asking again soon is no use. */
      readonly refused: boolean;
    };

/** Reads the answer of the v3 order lookup about this transaction. Pure. */
export function readOrderLookup(exchange: Exchange, transaction: Transaction): OrderFinding {
  const json = exchange.kind === "answered" ? parseJson(exchange.body) : undefined;
  const httpStatus = exchange.kind === "answered" ? exchange.httpStatus : null;
  if (httpStatus === 404 && hasCode(json, ORDER_UNKNOWN)) return { kind: "absent" };
  const order = httpStatus === 200 ? orderSchema.safeParse(json).data : undefined;
  return (order && compared(order, transaction)) ?? unanswered(judgeStatus(exchange));
}

/** Compares an order of the gateway with ours; undefined: the object does not name our order. */
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

/** The amount in minor units; null: unreadable, or with more decimals than the currency has. */
function minorOf(amount: string | undefined, currency: Currency | undefined): number | null {
  if (!currency || amount === undefined || !/^\d{1,12}(\.\d{1,4})?$/.test(amount)) return null;
  if (/^0+(\.0+)?$/.test(amount)) return 0;
  try {
    return parseAmount(amount, currency, 12);
  } catch {
    return null;
  }
}

function unanswered(verdict: Verdict): OrderFinding {
  const { httpStatus } = verdict;
  const notOffered = httpStatus !== null && (httpStatus < 400 || isRefusal(httpStatus));
  return { kind: "unanswered", verdict, refused: notOffered };
}

/** Whether the server refuses the request for good; 408 and 429 are refusals of the moment. */
function isRefusal(httpStatus: number): boolean {
  const momentary = httpStatus === 408 || httpStatus === 429;
  return (httpStatus >= 400 && httpStatus < 500 && !momentary) || httpStatus === 501;
}
