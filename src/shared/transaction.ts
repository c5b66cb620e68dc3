import { z } from "zod";
import { parseJson } from "./json.ts";

/** One line of a cart, with the names and types of docs/design.md 12.4. */
const cartLineSchema = z.object({
  european_article_numbering: z.union([z.number(), z.string()]).optional(),
  product_reference: z.string().optional(),
  type: z.enum(["good", "discount", "fee"]),
  quantity: z.number(),
  name: z.string().optional(),
  unit_price: z.number(),
  tax_rate: z.number().optional(),
  discount: z.number(),
  total_amount: z.number(),
});
export type CartLine = z.infer<typeof cartLineSchema>;

export const ORDER_ID_CHARACTERS_MAX = 64;

/**
 * A charged transaction as tp-manager hands it off to the supervisor. Members may be added as
 * optional, but never removed or changed (docs/design.md 7.2).
 */
export const transactionSchema = z.object({
  /** The attempt's UUID, made before anything was sent; it names the transaction everywhere. */
  transactionId: z.uuid(),
  orderId: z.string().min(1).max(ORDER_ID_CHARACTERS_MAX),
  /** Whether the payment itself, recovery or an operator found that the transaction was charged. */
  origin: z.enum(["payment", "recovery", "operator"]),
  amountMinor: z.int().positive(),
  /** The ISO 4217 alpha code. */
  currency: z.string().length(3),
  /** The number of decimals of the currency. */
  exponent: z.int().min(0).max(4),
  /** When the terminal's approval was stored, in epoch milliseconds. */
  approvedAtMs: z.int(),
  maskedPan: z.string().nullable(),
  authorisationNumber: z.string().nullable(),
  cardName: z.string().nullable(),
  receiptNumber: z.string().nullable(),
  traceNumber: z.string().nullable(),
  terminalId: z.string().nullable(),
  customerEmail: z.string().nullable(),
  customData: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  /** The cart; empty if the basket was missing, malformed or did not add up. */
  cart: z.array(cartLineSchema),
});
export type Transaction = z.infer<typeof transactionSchema>;

/** The members of a transaction that may be unknown, each with the value for "unknown". */
export const noDetails = {
  maskedPan: null,
  authorisationNumber: null,
  cardName: null,
  receiptNumber: null,
  traceNumber: null,
  terminalId: null,
  customerEmail: null,
  customData: {},
  cart: [],
} as const satisfies Partial<Transaction>;

/** Returns a stored transaction; undefined: it is damaged, or another program wrote it. */
export function readStored(content: unknown): Transaction | undefined {
  return transactionSchema.safeParse(parseJson(String(content))).data;
}
