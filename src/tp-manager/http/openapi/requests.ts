import { z } from "zod";
import { settlements } from "../../orders/settlement.ts";

/** Every body the local API takes, as payment-request.ts and the routes read it. */

const orderId = z.string().min(1).max(64);

const cart = z.looseObject({
  european_article_numbering: z.union([z.int(), z.string()]).optional(),
  product_reference: z.string().optional(),
  type: z.string().optional().describe("good, discount or fee; anything else empties the cart."),
  quantity: z.number().optional(),
  name: z.string().optional(),
  unit_price: z.number().optional(),
  tax_rate: z.number().optional(),
  discount: z.number().optional(),
  total_amount: z.number().optional().describe("unit_price × quantity − discount"),
});

const customer = z.looseObject({
  id: z.int().nullish(),
  firstname: z.string().nullish(),
  lastname: z.string().nullish(),
  firstName: z.string().nullish(),
  lastName: z.string().nullish(),
  email: z.string().max(254).nullish(),
});

export const paymentRequest = z.strictObject({
  amount: z
    .number()
    .positive()
    .describe("In major units, with no more decimals than the currency has: 9.99"),
  orderId: orderId.nullish().describe("The key of the sale, for ever. Made when missing."),
  currency: z.string().length(3).nullish().describe("ISO 4217; the setting CURRENCY if missing."),
  basket: z
    .unknown()
    .optional()
    .describe("One cart object or a list of them; one that does not add up is echoed only."),
  customer: customer.nullish(),
  customData: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullish(),
  delivery: z
    .strictObject({ withinSeconds: z.int().min(1).max(180) })
    .nullish()
    .describe("Two-phase sale: answered at the approval, ended by POST /delivery."),
});

export const cartObject = cart;

export const deliveryRequest = z.strictObject({
  orderId,
  delivered: z.boolean(),
  amount: z.number().min(0).nullish().describe("Only goods of this value came out."),
});

export const reversalRequest = z.strictObject({ orderId });

export const settleRequest = z.strictObject({
  outcome: z.enum(settlements),
  note: z.string().min(1).max(500).describe("Who found out what, where."),
});

export const gatewayRequest = z
  .object({
    orderId: orderId.optional(),
    transactionPublicId: z.string().optional(),
    amount: z.number().positive().optional(),
  })
  .describe("orderId or transactionPublicId.");

export const gatewaySettleRequest = z.strictObject({
  orderId: orderId.optional(),
  transactionPublicId: z.string().optional(),
  happened: z.boolean(),
  note: z.string().min(1).max(500),
});

export const dropRequest = z.strictObject({ note: z.string().min(1).max(500) });
