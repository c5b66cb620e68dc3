import { z } from "zod";
import { AppError } from "../../../shared/catalog/errors.ts";
import { containsPan } from "../../../shared/masking/mask.ts";
import { currencyOf } from "../../../shared/money.ts";
import { newId } from "../../../shared/new-id.ts";
import type { Echo, PaymentRequest } from "../../attempts/payment.ts";
import { cartOf } from "../../orders/basket-check.ts";
import { amount, type Fault, faultsOf, judged, newOrderId, taken } from "./input.ts";
import { leaves, readAmount } from "./json-body.ts";

/** The most seconds until POST /delivery; the terminal waits longer (docs/zvt.md 8.2). */
const DELIVERY_SECONDS_MAX = 180;
const EMAIL_CHARACTERS_MAX = 254;

export const cartObject = z.looseObject({
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

export const basket = z.union([cartObject, z.array(cartObject)]).nullable();

const personName = z.string("must be a text").nullish();
const emailMessage = "must be an e-mail address";

/** The customer: names in two spellings, id and e-mail; other members are only echoed. */
export const customer = z.looseObject(
  {
    firstname: personName,
    lastname: personName,
    firstName: personName,
    lastName: personName,
    id: z.int("must be a whole number").nullish(),
    email: z
      .string("must be a text")
      .max(EMAIL_CHARACTERS_MAX, emailMessage)
      .regex(/^([^\s@]+@[^\s@]+)?$/, emailMessage)
      .nullish(),
  },
  "must be an object",
);

export const customData = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()], "must be a boolean, a number or a text"),
  "must be an object",
);

const currencyMessage = "must be an ISO 4217 code like EUR";
const wantedAmount = ({ input }: { readonly input?: unknown }): string =>
  `${input === undefined ? "is missing" : "must be a number"}, for example 9.99`;

/** The body of POST /payment (docs/design.md 5.6, 12.3). */
export const paymentRequest = z.strictObject({
  amount: amount(wantedAmount),
  orderId: newOrderId.nullish().describe("Names the sale for ever; made if missing."),
  currency: z
    .string(currencyMessage)
    .regex(/^[A-Z]{3}$/, currencyMessage)
    .refine((alpha) => currencyOf(alpha) !== undefined, currencyMessage)
    .meta({ description: "ISO 4217; the setting CURRENCY if missing." })
    .nullish(),
  basket: taken(basket)
    .optional()
    .describe("One cart object or a list of them; a cart with a wrong sum is only echoed."),
  customer: customer.nullish(),
  customData: customData.nullish(),
  delivery: judged(
    z.strictObject({ withinSeconds: z.int().min(1).max(DELIVERY_SECONDS_MAX) }),
    `must be {"withinSeconds": 1 to ${DELIVERY_SECONDS_MAX}}`,
  )
    .nullish()
    .describe("Whether the sale has two phases: answered when approved, ended by POST /delivery."),
});

/** Checks a payment request and names every fault. Throws REQUEST_INVALID or CARD_DATA_REFUSED. */
export function readPaymentRequest(given: unknown, defaultCurrency: string): PaymentRequest {
  const body = given as Readonly<Record<string, unknown>>;
  refuseCardData(body);
  const { data, error } = paymentRequest.safeParse(body);
  const faults: Fault[] = error ? faultsOf(paymentRequest, error, "is not a known field") : [];
  const alpha = body["currency"] ?? defaultCurrency;
  const currency = typeof alpha === "string" ? currencyOf(alpha) : undefined;
  const refuse = (message: string): number => faults.push({ field: "amount", message });
  const amountMinor = currency && readAmount(body, currency, refuse);
  if (faults.length > 0 || !data || !currency || amountMinor === undefined) {
    throw invalid(faults);
  }
  const { orderId, customer, customData, delivery } = data;
  const { cart, warning } = cartOf(body["basket"], amountMinor, currency);
  return {
    orderId: orderId ?? newId(),
    generatedId: typeof orderId !== "string",
    amountMinor,
    currency,
    echo: echoOf(body),
    cart,
    customerEmail: customer?.email || null,
    customData: customData ?? {},
    delivery: delivery ?? null,
    warnings: warning === null ? [] : [warning],
  };
}

/** The members of a request in the order in which an error lists their faults. */
const listedOrder = ["currency", "amount", "orderId", "customer", "customData", "delivery"];

function invalid(faults: readonly Fault[]): AppError {
  const rank = ({ field }: Fault): number => listedOrder.indexOf(field.split(".")[0] ?? "");
  const listed = faults
    .toSorted((a, b) => rank(a) - rank(b))
    .map(({ field, message }) => ({ field, message }));
  const message = listed.map(({ field, message }) => `${field} ${message}`).join("; ");
  return new AppError("REQUEST_INVALID", message, { details: { faults: listed } });
}

const articlePath = /^basket.*\.european_article_numbering$/;
/** The form of an article number, from GTIN-8 to GTIN-14, without separators. */
const articleNumber = /^\d{8,14}$/;

/** Throws if a request holds a card number, which would reach logs, disk and gateway. */
function refuseCardData(body: Readonly<Record<string, unknown>>): void {
  for (const { path, text } of leaves(body)) {
    // One article number in ten has a card number's check digit, so article numbers are skipped.
    if (articlePath.test(path) && articleNumber.test(text)) continue;
    if (containsPan(text)) {
      throw new AppError("CARD_DATA_REFUSED", `${path} holds what looks like a card number.`, {
        details: { field: path },
      });
    }
  }
}

function echoOf(body: Readonly<Record<string, unknown>>): Echo {
  const { amount, basket, customer, customData } = body;
  return {
    amount: amount as number,
    ...(basket === undefined ? {} : { basket }),
    ...(customer === undefined ? {} : { customer }),
    ...(customData === undefined ? {} : { customData }),
  };
}
