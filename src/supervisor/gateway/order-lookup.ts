import { z } from "zod";
import { currencyOf, parseAmount } from "../../shared/money.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { type Exchange, judgeStatus, type Verdict } from "./faults.ts";
import { ORDER_UNKNOWN, parseJson } from "./lookup.ts";

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
      readonly kind: "untold";
      readonly verdict: Verdict;
      /** The lookup does not exist here, or not for us: asking soon again would not help. */
      readonly refused: boolean;
    };

/** Reads the answer of the v3 order lookup about this transaction. Pure. */
export function readOrderLookup(exchange: Exchange, transaction: Transaction): OrderFinding {
  const json = exchange.kind === "answered" ? parseJson(exchange.body) : undefined;
  if (exchange.kind === "answered" && exchange.httpStatus === 404) {
    const unknown = z.object({ code: z.literal(ORDER_UNKNOWN) }).safeParse(json);
    if (unknown.success) return { kind: "absent" };
  }
  const isAnswer = exchange.kind === "answered" && exchange.httpStatus === 200;
  const order = isAnswer ? orderSchema.safeParse(json).data : undefined;
  return (order && compared(order, transaction)) ?? untold(judgeStatus(exchange));
}

/** undefined: the object does not say that it is about our order at all. */
function compared(
  { id, amount, currency, custom_data: custom }: z.infer<typeof orderSchema>,
  transaction: Transaction,
): OrderFinding | undefined {
  const { orderId, transactionId } = transaction;
  if (id !== undefined && String(id) !== orderId) return undefined;
  const named = custom?.transactionId;
  if (id === undefined && named !== transactionId) return undefined;
  if (named === undefined) return other("it does not tell our transaction id");
  if (named !== transactionId) return other("it is of another transaction");
  if (currency !== transaction.currency) return other(`its currency is ${currency ?? "not told"}`);
  if (minorOf(amount, currency) !== transaction.amountMinor) {
    return other(`its amount is ${amount ?? "not told"}`);
  }
  return { kind: "ours" };
}

function other(why: string): OrderFinding {
  return { kind: "other", why: `the gateway has an order of this number, but ${why}` };
}

function minorOf(amount: string | undefined, alpha: string): number | undefined {
  const currency = currencyOf(alpha);
  if (!currency || amount === undefined || !/^\d{1,12}(\.\d{1,4})?$/.test(amount)) return undefined;
  try {
    return parseAmount(amount, currency, 12);
  } catch {
    return undefined; // 0, or more decimals than the currency has
  }
}

function untold(verdict: Verdict): OrderFinding {
  const { httpStatus } = verdict;
  const notOffered = httpStatus !== null && (httpStatus < 400 || isRefusal(httpStatus));
  return { kind: "untold", verdict, refused: notOffered };
}

/** Of this program's request, for good; 408 and 429 are about the moment. */
function isRefusal(httpStatus: number): boolean {
  const momentary = httpStatus === 408 || httpStatus === 429;
  return (httpStatus >= 400 && httpStatus < 500 && !momentary) || httpStatus === 501;
}
