import { z } from "zod";
import type { ErrorCode } from "../../../shared/catalog/errors.ts";
import { deliveryStateSchema } from "../../../shared/ipc/contract.ts";
import { unmatchedFindings } from "../../attempts/findings.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import {
  basket,
  cartObject,
  customData,
  customer,
  paymentRequest,
} from "../body/payment-request.ts";
import * as example from "./answer-examples.ts";
import { consoleAnswers, consoleSchemas } from "./console.ts";
import { day, dayExample } from "./day.ts";
import * as evidence from "./evidence.ts";
import * as found from "./found-payments.ts";
import * as gateway from "./gateway.ts";
import { health } from "./health.ts";
import { reconciliation, reconciliationExample } from "./reconciliation.ts";
import { jsonValue, oneOfErrors, receipt, seenAt, success, time } from "./schemas.ts";

/**
 * Answers and examples for the document of calls (`document` of a call record). The generator and
 * the tests load them; a running process never does.
 */

const terminal: readonly ErrorCode[] = [
  "TERMINAL_BUSY",
  "TERMINAL_DISCONNECTED",
  "TERMINAL_NO_ANSWER",
  "TERMINAL_OUT_OF_ORDER",
  "TERMINAL_IN_DOUBT",
  "TERMINAL_CHANGED",
  "STOPPING",
];
/** Codes that a payment can have ended with when it was not charged. */
const notCharged: readonly ErrorCode[] = [
  ...terminal.filter((code) => code !== "TERMINAL_IN_DOUBT"),
  "TERMINAL_REFUSED",
  "TERMINAL_FAULT",
  "PAYMENT_DECLINED",
  "PAYMENT_CANCELLED",
  "CUSTOMER_TIMEOUT",
  "SETTLED_NOT_CHARGED",
  "CURRENCY_REFUSED",
];
const money: readonly ErrorCode[] = [...terminal, "PAYMENT_UNKNOWN", "PAYMENT_RUNNING"];

const outcomeError = oneOfErrors([...money, ...notCharged, "GOODS_NOT_DELIVERED"]);

/** Members of the request that an answer repeats as they came; absent ones were not sent. */
const echoed = {
  basket: z.unknown().optional().describe("The kiosk's own, whatever it was."),
  customer: customer.nullish(),
  customData: customData.nullish(),
};

const chargedAmount = z
  .number()
  .nullable()
  .describe("By the terminal's or an operator's word; null: not known. Returns do not change it.");

const payment = {
  status: z.enum(paymentStatuses),
  error: outcomeError.nullable(),
  receipt,
  ticket: z.string().describe("Printable text, lines separated by |."),
  amount: z.number().describe("As it was asked for, in major units."),
  chargedAmount,
  currency: z.string().length(3),
  orderId: z.string(),
  ...echoed,
  notificationGatewaySent: z.boolean().describe("The gateway has the order now."),
  transactionId: z.string(),
  warnings: z.array(z.string()),
};
const replay = {
  replayed: z.literal(true).optional().describe("The order had been answered before."),
  answeredAt: time.optional(),
};

const paymentAnswer = z.object({ ...payment, ...replay });

/** Members of every refusal of a payment; the others as far as the request was understood. */
export const paymentRefusal = z
  .object({ ...payment, ...replay })
  .omit({ status: true, error: true })
  .partial()
  .required({ receipt: true, ticket: true, notificationGatewaySent: true });

const listedPayment = z.object({
  ...payment,
  attempt: z.int().min(1),
  archived: z.boolean().describe("Older than JOURNAL_DAYS: receipt, ticket and echoes are gone."),
  startedAt: time,
  endedAt: time.nullable(),
});

const attempt = z.object({
  transactionId: z.string(),
  number: z.int().min(1),
  status: z.enum(paymentStatuses),
  error: outcomeError.nullable(),
  amount: z.number(),
  chargedAmount,
  currency: z.string(),
  startedAt: time,
  endedAt: time.nullable(),
  baseline: evidence.baseline.nullable().describe("The terminal before; null: it was not asked."),
  events: z.array(evidence.attemptEvent),
});

const lookup = z.object({
  ...payment,
  attempts: z.array(attempt).min(1),
  gateway: gateway.gatewayStanding,
});

const story = lookup.extend({
  card: found.maskedCard,
  delivery: deliveryStateSchema.nullable().describe("On its way to the gateway; null: nothing is."),
  notes: found.storyNotes,
  refundable: found.refundable,
  may: found.may,
});

const unmatchedTransaction = z.object({
  id: z.int(),
  at: time,
  finding: z
    .enum(["open", "not-good", ...unmatchedFindings])
    .describe(
      "open: the terminal is being asked. held: it has the sale stored. reversed, gone: it has " +
        "not. known: an order's. unclear: nobody can tell. not-good: the terminal says it failed.",
    ),
  because: z.string(),
  foundAt: time.nullable(),
  seenAt,
  receiptNumber: z.string().nullable(),
  traceNumber: z.string().nullable(),
  amountMinor: z.int().nullable().describe("In minor units: 999 is 9.99 EUR."),
  currency: z.string(),
  maskedPan: z.string().nullable(),
  cardName: z.string().nullable(),
  resultCode: z.string().nullable(),
  authorisationNumber: z.string().nullable(),
  localDate: z.string().nullable().describe("The terminal's MMDD."),
  localTime: z.string().nullable().describe("The terminal's HHMMSS."),
  terminalId: z.string(),
  serialNumber: z.string(),
});

const done = { status: success, message: z.string() };
const message = z.object(done);

/** This very document. */
const openApi = z
  .object({ openapi: z.string(), info: z.object({ title: z.string() }).catchall(jsonValue) })
  .catchall(jsonValue);
const outboxDone = z.object({ status: success, transactionId: z.string(), message: z.string() });

/** Those that have a name in the document. */
export const namedSchemas = {
  paymentAnswer,
  listedPayment,
  lookup,
  receipt,
  attempt,
  unmatchedTransaction,
  health,
  reconciliation,
  foundPayment: found.foundPayment,
  ...consoleSchemas,
  operationDone: gateway.operationDone,
  gatewayStanding: gateway.gatewayStanding,
  gatewayTransaction: gateway.gatewayTransaction,
  openAtGateway: gateway.openAtGateway,
  outboxItem: gateway.outboxItem,
  outboxDone,
  message,
  attemptEvent: evidence.attemptEvent,
  baseline: evidence.baseline,
  jsonValue,
  transactionReport: evidence.transactionReport,
  observation: evidence.observation,
  paymentRequest,
  basket,
  cartObject,
  customer,
  customData,
  outcomeError,
};

/** Codes, schemas and examples that `document` of a call record gets. */
export const known = {
  errors: { terminal, notCharged, money },
  done,
  message: (text: string) => ({ schema: message, example: { status: "Success", message: text } }),
  orderExample: example.orderExample,
  operationExample: example.operationExample,
  paymentRequestExample: example.paymentRequestExample,
  openApi,
  payment: { schema: paymentAnswer, example: example.paymentExample },
  lookup: { schema: lookup, example: example.lookupExample },
  story: {
    schema: story,
    example: {
      ...example.lookupExample,
      card: found.maskedExample,
      delivery: "sent",
      notes: [],
      refundable: null,
      may: ["reverse"],
    },
  },
  day: { schema: day, example: dayExample },
  search: { schema: found.search, example: found.searchExample },
  listedPayment: {
    schema: listedPayment,
    example: { ...example.paymentExample, attempt: 1, archived: false, ...example.times },
  },
  unmatchedTransaction: { schema: unmatchedTransaction, example: example.unmatchedExample },
  ...consoleAnswers,
  reconciliation: { schema: reconciliation, example: reconciliationExample },
  health: { schema: health, example: example.healthExample },
  operationDone: { schema: gateway.operationDone, example: example.operationDoneExample },
  gatewayTransaction: { schema: gateway.gatewayTransaction, example: example.transactionExample },
  openAtGateway: { schema: gateway.openAtGateway, example: example.openAtGatewayExample },
  outboxItem: { schema: gateway.outboxItem, example: example.outboxExample },
  outboxDone: {
    schema: outboxDone,
    example: { status: "Success", ...example.itemExample, message: "Done." },
  },
};
export type Known = typeof known;
