import { z } from "zod";
import { conditionNames } from "../../../shared/catalog/conditions.ts";
import { type ErrorCode, errorTable } from "../../../shared/catalog/errors.ts";
import { receiptFields } from "../../../shared/receipt.ts";
import type { PaymentAnswer } from "../../orders/answer.ts";

export const accepted = {
  status: z.literal("Success"),
  accepted: z.literal(true).describe("The call was accepted. It is no payment: no goods for it."),
};
export const time = z.iso.datetime();
export const orderId = z.string();
/** The id of an attempt. */
export const transactionId = z.string();
/** An amount in major units. */
export const amount = z.number();
export const currency = z.string().length(3);

type Scalar = string | number | boolean | null;
type JsonObject = { [name: string]: JsonValue };
type JsonValue = Scalar | JsonObject | Array<Scalar | JsonObject>;
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
/** A value as the gateway sent it; no list in the value holds a list. */
export const jsonValue: z.ZodType<JsonValue> = z.lazy(() => {
  const object = z.record(z.string(), jsonValue);
  return z.union([scalar, object, z.array(z.union([scalar, object]))]);
});

/** How long a running payment has until the connector ends it or its wait for the goods. */
export const untilEnd = {
  endsAt: time
    .nullable()
    .describe("When the time of the running payment ends; null: no time runs."),
  secondsLeft: z.int().nullable().describe("The seconds until `endsAt`; 0: the time is over."),
};

export const receipt = z.object(
  Object.fromEntries(receiptFields.map((field) => [field, z.string()])),
);

export const terminalIdentity = z.object({
  serialNumber: z.string(),
  deviceId: z.string(),
  terminalId: z.string(),
  version: z.string(),
});

export const declineAdvice = z.object({
  hostCode: z.string().nullable().describe("The bank's code; null: the terminal decided itself."),
  tryAgain: z.enum(["same-card", "other-card", "no"]),
});

const terminal: readonly ErrorCode[] = [
  "TERMINAL_BUSY",
  "TERMINAL_DISCONNECTED",
  "TERMINAL_NO_ANSWER",
  "TERMINAL_OUT_OF_ORDER",
  "TERMINAL_IN_DOUBT",
  "TERMINAL_CHANGED",
  "STOPPING",
];
/** The error codes of payments that were not charged. */
const notCharged: readonly ErrorCode[] = [
  ...terminal.filter((code) => code !== "TERMINAL_IN_DOUBT"),
  "TERMINAL_REFUSED",
  "TERMINAL_FAULT",
  "SALE_TAKEN_BACK",
  "PAYMENT_DECLINED",
  "PAYMENT_CANCELLED",
  "CUSTOMER_TIMEOUT",
  "SETTLED_NOT_CHARGED",
  "CURRENCY_REFUSED",
];
const money: readonly ErrorCode[] = [...terminal, "PAYMENT_UNKNOWN", "PAYMENT_RUNNING"];
/** The error codes of approved sales whose goods did not come out, or not for certain. */
const notDelivered: readonly ErrorCode[] = ["GOODS_NOT_DELIVERED", "DELIVERY_UNCONFIRMED"];
export const paymentErrors = { terminal, notCharged, notDelivered, money };

const charged = z.enum(["no", "yes", "unknown"]);

const openReturn = z.object({
  operationId: z.string(),
  kind: z.enum(["cancel", "refund"]),
  amountMinor: z.int(),
  transactionPublicId: z.string(),
  atMs: z.int(),
});

const outcome = z
  .object({ terminalCode: z.string(), ...declineAdvice.shape })
  .partial()
  .describe("If the terminal ended the payment: its code, and what the customer can do.");
const otherOrder = z.object({ orderId: z.string(), charged });
const aboutOrder = otherOrder.partial();
const operation = z
  .object({
    operationId: z.string(),
    transactionPublicId: z.string(),
    code: z.int().nullable(),
    description: z.string(),
    class: z.string().nullable(),
  })
  .partial();
const aboutItem = z.object({ transactionId: z.string() });
const asking = z
  .object({ until: time.nullable(), says: z.string() })
  .describe("While the terminal is asked. until null: it is asked when it is back and free.");

/** The schema of `error.details` of each code; a code that is missing here has no details. */
const details: Partial<Record<ErrorCode, z.ZodObject>> = {
  ...Object.fromEntries(
    [...notCharged, ...notDelivered, "UPDATING"].map((code) => [code, outcome]),
  ),
  REQUEST_INVALID: z.object({
    faults: z
      .array(z.object({ field: z.string(), message: z.string() }))
      .optional()
      .describe("Absent if the request could not be read up to its fields."),
  }),
  CARD_DATA_REFUSED: z.object({ field: z.string() }),
  TERMINAL_BUSY: outcome.extend(aboutOrder.shape),
  TERMINAL_IN_DOUBT: outcome.extend(aboutOrder.shape),
  TERMINAL_CHANGED: outcome.extend({
    accepted: terminalIdentity.optional(),
    found: terminalIdentity.optional(),
  }),
  PAYMENT_UNKNOWN: z
    .object({
      inDoubt: z
        .enum(["payment", "reversal"])
        .describe("`reversal`: the order was paid, and only what went back is not known."),
      why: z.string(),
      asking,
    })
    .partial(),
  PAYMENT_RUNNING: z
    .object({ inDoubt: z.literal("reversal").describe("The order was paid; its reversal runs.") })
    .partial(),
  CANCEL_REFUSED: z.object({ terminalCode: z.string(), terminalText: z.string() }).partial(),
  ORDER_MISMATCH: z.object({
    amount: z.number(),
    currency: z.string(),
    differs: z
      .array(z.enum(["basket", "customer", "customData"]))
      .optional()
      .describe("With REPEAT_MUST_MATCH=all: which members differ."),
  }),
  TERMINAL_SALE_UNMATCHED: z.object({
    receiptNumber: z.string().nullable(),
    amountMinor: z.number(),
    sale: z.string().describe("The sale in words, for people."),
  }),
  ANSWER_NOT_DELIVERED: otherOrder,
  REVERSAL_REFUSED: z.object({ state: z.string().optional().describe("State at the gateway.") }),
  REVERSAL_NOT_SAFE: z.object({ because: z.string().describe("The reason, for people.") }),
  OPEN_PRE_AUTHORISATIONS: z.object({ receiptNumbers: z.array(z.string()) }),
  TELECOLLECTION_FAILED: z.object({ terminalCode: z.string(), end: z.string() }),
  GATEWAY_ID_UNKNOWN: z.object({ transactionPublicIds: z.array(z.string()).optional() }),
  GATEWAY_OPERATION_OPEN: openReturn.partial(),
  REFUND_REPEATED: z
    .object({
      operationId: z.string(),
      transactionPublicId: z.string(),
      state: z.enum(["sending", "done", "unknown"]).describe("done: the gateway carried it out."),
      askedAt: time,
    })
    .partial()
    .describe("The earlier refund; it has no members if the supervisor's database was lost."),
  GATEWAY_REFUSED: operation,
  GATEWAY_NOT_SENT: operation,
  GATEWAY_OPERATION_UNKNOWN: operation,
  GATEWAY_LOOKUP_FAILED: z.object({ description: z.string() }),
  OUTBOX_ITEM_NOT_FOUND: aboutItem,
  OUTBOX_ITEM_BUSY: aboutItem,
  OUTBOX_ITEM_SETTLED: aboutItem.extend({ state: z.enum(["sent", "closed"]) }),
  SUPERVISOR_UNAVAILABLE: z.object({ failure: z.string() }),
};

const noDetails = z.object({}).describe("No details yet.");

export const apiErrors = Object.fromEntries(
  Object.entries(errorTable).map(([code, { meaning, action, retry }]) => [
    code,
    z
      .object({
        code: z.literal(code),
        message: z.string().describe("A text for people; it may change."),
        charged: charged.describe("Whether the order of the request is charged."),
        retry: (retry === "safe" ? z.enum([retry, "same_order"]) : z.literal(retry)).describe(
          "What the kiosk's program may do. safe: only for an order that is not charged.",
        ),
        details: details[code as ErrorCode] ?? noDetails,
      })
      .describe(`${meaning} ${action}`),
  ]),
) as unknown as Readonly<Record<ErrorCode, z.ZodObject>>;

type ApiError = NonNullable<PaymentAnswer["error"]>;

/** Returns the schema of an error with one of these codes. */
export function oneOfErrors(codes: readonly ErrorCode[]): z.ZodType<ApiError, ApiError> {
  const [first, ...others] = [...new Set(codes)].map((code) => apiErrors[code]);
  if (!first) throw new Error("a schema of errors needs at least one error code");
  const one = others.length === 0 ? first : z.discriminatedUnion("code", [first, ...others]);
  return one as unknown as z.ZodType<ApiError, ApiError>;
}

export const outcomeError = oneOfErrors([...money, ...notCharged, ...notDelivered]);

export const seenAt = time.nullable().describe("When a person acknowledged it; null: nobody did.");

/** A condition, something that lasts and hinders the kiosk, in the form of an alarm. */
export const condition = z.object({
  trouble: z.enum(conditionNames),
  since: time.nullable().describe("Since when it lasts; null: not known."),
  count: z.int().nullable().describe("How many items it concerns; null: not countable."),
});
