import { z } from "zod";
import { maskPansInText } from "../../shared/masking/mask.ts";
import { currencyOf, parseAmount } from "../../shared/money.ts";
import type { TryClass } from "./fault-table.ts";
import { type Exchange, judgeStatus } from "./faults.ts";

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

/** One transaction as the gateway tells it, with what is needed of it in our own units. */
export interface LookedUp {
  /** The whole object, card numbers masked. */
  readonly transaction: Readonly<Record<string, unknown>>;
  readonly orderId: string | null;
  /** Of our free data, when the gateway returns it. */
  readonly transactionId: string | null;
  readonly currency: string | null;
  readonly exponent: number;
  readonly amountMinor: number | null;
  readonly capturedMinor: number | null;
  readonly refundedMinor: number | null;
}

export type LookupAnswer =
  | { readonly outcome: "found"; readonly found: LookedUp }
  | { readonly outcome: "not-found"; readonly description: string }
  | {
      readonly outcome: "failed";
      readonly class: TryClass;
      readonly httpStatus: number | null;
      readonly description: string;
    };

const TRANSACTION_UNKNOWN = 3_000_002; // docs/gateway.md 4.5
export const ORDER_UNKNOWN = 3_000_001;
const NESTING_MAX = 20;

/** Reads the answer of the v3 lookup. Pure. */
export function readLookup(exchange: Exchange): LookupAnswer {
  if (exchange.kind === "failed" || exchange.body === null) {
    const { class: tryClass, httpStatus, description } = judgeStatus(exchange);
    return { outcome: "failed", class: tryClass, httpStatus, description };
  }
  const { httpStatus, body } = exchange;
  const json = parseJson(body);
  if (httpStatus === 404 && isUnknownTransaction(json)) {
    return { outcome: "not-found", description: "the gateway knows no such transaction" };
  }
  const parsed = httpStatus === 200 ? transactionSchema.safeParse(json) : undefined;
  if (parsed?.success) return { outcome: "found", found: lookedUp(parsed.data) };
  const verdict = judgeStatus(exchange);
  const words = z.object({ message: z.string() }).safeParse(json).data?.message;
  const description = words ? `${verdict.description}: ${words}` : verdict.description;
  return { outcome: "failed", class: verdict.class, httpStatus, description };
}

/** A server that does not know the address, or takes the name in it for another thing. */
const addressRefused: readonly number[] = [400, 404, 405];

/** false: the same question may be understood at the other address (docs/gateway.md 4.3). */
export function isUnderstood(exchange: Exchange): boolean {
  if (exchange.kind === "failed" || !addressRefused.includes(exchange.httpStatus)) return true;
  const json = parseJson(exchange.body);
  const known = z.object({ code: z.literal([TRANSACTION_UNKNOWN, ORDER_UNKNOWN]) });
  return exchange.httpStatus === 404 && known.safeParse(json).success;
}

function lookedUp(found: z.infer<typeof transactionSchema>): LookedUp {
  const currency = found.currency ? currencyOf(found.currency) : undefined;
  const minor = (amount: string | undefined): number | null => {
    if (!currency || amount === undefined || !/^\d{1,12}(\.\d{1,4})?$/.test(amount)) return null;
    if (/^0+(\.0+)?$/.test(amount)) return 0;
    try {
      return parseAmount(amount, currency, 12);
    } catch {
      return null; // more decimals than the currency has: not a figure to rely on
    }
  };
  const order = found.order?.id;
  const custom = z
    .object({ custom_data: z.object({ transactionId: z.string() }) })
    .safeParse(found.order);
  return {
    transaction: masked(found) as Record<string, unknown>,
    orderId: found.merchant_order_id ?? (order === undefined ? null : String(order)),
    transactionId: custom.data?.custom_data.transactionId ?? null,
    currency: currency?.alpha ?? null,
    exponent: currency?.exponent ?? 2,
    amountMinor: minor(found.amount),
    capturedMinor: minor(found.captured_amount),
    refundedMinor: minor(found.refunded_amount),
  };
}

function masked(value: unknown, depth = 0): unknown {
  if (depth > NESTING_MAX) return null;
  if (typeof value === "string") return maskPansInText(value);
  if (Array.isArray(value)) return value.map((item) => masked(item, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, masked(member, depth + 1)]),
  );
}

function isUnknownTransaction(json: unknown): boolean {
  return z.object({ code: z.literal(TRANSACTION_UNKNOWN) }).safeParse(json).success;
}

/** undefined when it is none. */
export function parseJson(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
