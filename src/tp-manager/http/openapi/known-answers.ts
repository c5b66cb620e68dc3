import { z } from "zod";
import type { ErrorCode } from "../../../shared/errors.ts";
import {
  deliveryStateSchema,
  gatewayOperationKindSchema,
  gatewayOperationSchema,
  gatewayStateSchema,
} from "../../../shared/ipc/contract.ts";
import { emptyReceipt } from "../../../shared/receipt.ts";
import { listStatuses } from "../../attempts/attempt-store.ts";
import { eventTable } from "../../attempts/event-table.ts";
import { strayFindings } from "../../attempts/stray-policy.ts";
import { basket, cartObject, customData, customer, paymentRequest } from "../payment-request.ts";
import * as evidence from "./evidence.ts";
import { jsonValue, oneOfErrors, receipt, time } from "./schemas.ts";

/**
 * Answers and examples for the document of calls (`document` of a call record). The generator and
 * the tests load them; a running process never does.
 */

const terminal: readonly ErrorCode[] = [
  ...(["TERMINAL_BUSY", "TERMINAL_DISCONNECTED", "TERMINAL_NO_ANSWER"] as const),
  ...(["TERMINAL_OUT_OF_ORDER", "TERMINAL_IN_DOUBT", "TERMINAL_CHANGED", "STOPPING"] as const),
];
/** Codes that a payment can have ended with when it was not charged. */
const notCharged: readonly ErrorCode[] = [
  ...terminal.filter((code) => code !== "TERMINAL_IN_DOUBT"),
  ...(["TERMINAL_REFUSED", "TERMINAL_FAULT", "PAYMENT_DECLINED", "PAYMENT_CANCELLED"] as const),
  ...(["CUSTOMER_TIMEOUT", "SETTLED_NOT_CHARGED"] as const),
];
const money: readonly ErrorCode[] = [...terminal, "PAYMENT_UNKNOWN", "PAYMENT_RUNNING"];

const outcomeError = oneOfErrors([...money, ...notCharged, "GOODS_NOT_DELIVERED"]);

/** Members of the request that an answer repeats as they came; absent ones were not sent. */
const echoed = {
  basket: z.unknown().optional().describe("The kiosk's own, whatever it was."),
  customer: customer.nullish(),
  customData: customData.nullish(),
};

const payment = {
  status: z.enum(listStatuses),
  error: outcomeError.nullable(),
  receipt,
  ticket: z.string().describe("Printable text, lines separated by |."),
  amount: z.number().describe("As it was asked for, in major units."),
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
  status: z.enum(listStatuses),
  error: outcomeError.nullable(),
  amount: z.number(),
  currency: z.string(),
  startedAt: time,
  endedAt: time.nullable(),
  baseline: evidence.baseline.nullable().describe("The terminal before; null: it was not asked."),
  events: z.array(evidence.attemptEvent),
});

const publicId = z.string().describe("The gateway's own id.");
const code = z.int().nullable().describe("The gateway's; 0 is good.");

const gatewayEvent = z.object({
  at: time,
  kind: z.enum(["operation", "fraud"]),
  operation: z.string(),
  status: z.string(),
  transactionPublicId: publicId.nullable(),
  copies: z.int().min(1).describe("How often the same notification came."),
  details: z.record(z.string(), jsonValue).describe("As the gateway told it, masked."),
});

const gatewayOperation = z.object({
  operationId: z.string(),
  kind: gatewayOperationKindSchema,
  transactionPublicId: publicId,
  amount: z.number().nullable(),
  state: gatewayOperationSchema.shape.state,
  code,
  description: z.string(),
  class: z.string().nullable(),
  askedAt: time,
  endedAt: time.nullable(),
});

/** How an order stands at the gateway. */
const gatewayStanding = z
  .union([
    z.object({
      state: gatewayStateSchema,
      fraudReported: z.boolean(),
      transactionPublicIds: z.array(publicId),
      history: z.array(gatewayEvent),
      operations: z.array(gatewayOperation),
    }),
    z.object({ state: z.literal("unknown"), problem: z.string() }),
  ])
  .nullable()
  .describe("null: the supervisor was never given the order.");

const lookup = z.object({
  ...payment,
  attempts: z.array(attempt).min(1),
  gateway: gatewayStanding,
});

const unexpectedReport = z.object({
  id: z.int(),
  at: time,
  finding: z
    .enum(["open", "not-good", ...strayFindings])
    .describe(
      "open: the terminal is being asked. held: it has the sale stored. reversed, gone: it has " +
        "not. known: an order's. unclear: nobody can tell. not-good: the terminal says it failed.",
    ),
  because: z.string(),
  foundAt: time.nullable(),
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

const health = z.object({
  status: z.enum(["Ready", "NotReady"]),
  reasons: z.array(z.string()).describe("Why no payment can be taken now."),
  warnings: z.array(z.string()),
  terminal: eventTable.terminal.data.extend({ version: z.string() }),
  running: z.object({ what: z.string(), orderId: z.string().nullable() }).nullable(),
  payments: z.object({ inDoubt: z.int(), notHandedOver: z.int() }).nullable(),
  outbox: z
    .object({
      pending: z.int(),
      parked: z.int(),
      sent: z.int(),
      oldestAgeSeconds: z.int().nullable(),
      paused: z.string().nullable(),
    })
    .nullable()
    .describe("null: the supervisor does not answer."),
  alarms: z
    .array(eventTable.alarm.data.extend({ id: z.int(), at: time }))
    .describe("The newest of the last day; GET /events has all that are kept."),
  disk: z.object({ freeBytes: z.number(), freeMinBytes: z.number() }).nullable(),
  clock: z.object({ now: time, timeZone: z.string(), uptimeSeconds: z.int() }),
  versions: z.object({
    connector: z.string(),
    supervisor: z.string(),
    node: z.string(),
    os: z.string(),
  }),
  dailyChoresAt: z.string(),
});

const success = z.literal("Success");
const done = { status: success, message: z.string() };
const message = z.object(done);

const operationDone = z.object({
  status: success,
  error: z.null(),
  operationId: z.string(),
  transactionPublicId: publicId,
  orderId: z.string().nullable().describe("null: not an order of this installation."),
  code,
  description: z.string().describe("The gateway's words."),
  amount: z.number().nullable().describe("In major units; null: all of it."),
  currency: z.string().length(3),
});

const decimal = z.string().optional();
/** The v3 transaction object; the gateway has more members and may add others. */
const gatewayTransaction = z
  .object({
    id: z.int(),
    merchant_order_id: z.string().optional(),
    state: z.string().optional(),
    amount: decimal,
    authorized_amount: decimal,
    captured_amount: decimal,
    refunded_amount: decimal,
    chargebacked_amount: decimal,
    currency: z.string().optional(),
    operations: z
      .array(
        z
          .object({ type: z.string(), status: z.string(), amount: z.string() })
          .partial()
          .catchall(jsonValue),
      )
      .optional(),
    fraud_reported_by_acquirer: z.boolean().optional(),
  })
  .catchall(jsonValue)
  .describe("As the gateway tells it, card numbers masked.");

const outboxItem = z.object({
  transactionId: z.string(),
  orderId: z.string(),
  state: deliveryStateSchema,
  amount: z.number(),
  currency: z.string().length(3),
  queuedAt: time,
  nextTryAt: time.nullable(),
  settledAt: time.nullable(),
  tries: z.int().min(0),
  ambiguous: z.boolean().describe("The answer of at least one try was lost."),
  reason: z.string().nullable().describe("Why it is parked or closed."),
  lastTry: z
    .object({
      endedAt: time,
      class: z.string(),
      httpStatus: z.int().nullable(),
      code: z.int().nullable(),
      description: z.string(),
    })
    .nullable(),
});
/** This very document. */
const openApi = z
  .object({ openapi: z.string(), info: z.object({ title: z.string() }).catchall(jsonValue) })
  .catchall(jsonValue);
const outboxDone = z.object({ status: success, transactionId: z.string(), message: z.string() });

/** Those that have a name in the document. */
export const namedSchemas = {
  ...{ paymentAnswer, listedPayment, lookup, receipt, attempt, unexpectedReport, health },
  ...{ operationDone, gatewayStanding, gatewayTransaction, outboxItem, outboxDone, message },
  ...{ attemptEvent: evidence.attemptEvent, baseline: evidence.baseline, jsonValue },
  ...{ transactionReport: evidence.transactionReport, observation: evidence.observation },
  ...{ paymentRequest, basket, cartObject, customer, customData, outcomeError },
};

const orderExample = { orderId: "A-1001" };
const paymentRequestExample = {
  amount: 12.0,
  ...orderExample,
  currency: "EUR",
  basket: {
    ...{ type: "good", name: "Ticket", quantity: 1, unit_price: 12.0 },
    ...{ tax_rate: 0, discount: 0, total_amount: 12.0 },
  },
  customer: { id: 7, firstname: "Ada", lastname: "Lane", email: "ada@example.com" },
  customData: { kiosk: "K-12", vip: false },
};
const paymentExample = {
  status: "Success",
  error: null,
  receipt: {
    ...emptyReceipt(),
    localDate: "150126",
    localTime: "130501",
    primaryAccountNumber: "541333XXXXXX4444",
    amount: "00001200",
    currencyNumCode: "978",
    currencyAlphaCode: "EUR",
    currencyFractionPart: "2",
  },
  ticket: "CARD PAYMENT|EUR 12.00|APPROVED",
  ...paymentRequestExample,
  notificationGatewaySent: true,
  transactionId: "3f0c3f0e-52f5-4b0a-8f0e-0d7a4c8f5a10",
  warnings: [],
};
const times = { startedAt: "2026-01-15T12:04:40.000Z", endedAt: "2026-01-15T12:05:01.000Z" };
const operationExample = {
  operationId: "5f0c6f52-6b0e-4a5a-8f8c-1a2b3c4d5e6f",
  transactionPublicId: "0A1B2C3D4E5F6071",
};
const itemExample = { transactionId: "0b8f6a52-7f5f-4c0e-9d4e-5b3f0a9d1c11" };

const lookupExample = {
  ...paymentExample,
  gateway: {
    state: "captured",
    fraudReported: false,
    transactionPublicIds: ["0A1B2C3D4E5F6071"],
    history: [
      {
        at: "2026-01-15T12:00:04.000Z",
        kind: "operation",
        operation: "capture",
        status: "ok",
        transactionPublicId: "0A1B2C3D4E5F6071",
        copies: 1,
        details: { operation: "capture", status: "ok", origAmount: "12.00" },
      },
    ],
    operations: [],
  },
  attempts: [
    {
      transactionId: paymentExample.transactionId,
      number: 1,
      status: "Success",
      error: null,
      amount: 12.0,
      currency: "EUR",
      ...times,
      baseline: null,
      events: [{ at: times.endedAt, kind: "end-completed" }],
    },
  ],
};
const unexpectedExample = {
  id: 1,
  at: "2026-01-15T12:00:00.000Z",
  finding: "held",
  because: "the terminal has it stored as a sale",
  foundAt: "2026-01-15T12:00:10.000Z",
  ...{ receiptNumber: "0042", traceNumber: "000123", amountMinor: 1200, currency: "EUR" },
  ...{ maskedPan: "541333XXXXXX4444", cardName: "Mastercard", resultCode: "00" },
  ...{ authorisationNumber: "123456", localDate: "0115", localTime: "130000" },
  ...{ terminalId: "52500001", serialNumber: "12345678" },
};
const healthExample = {
  status: "Ready",
  reasons: [],
  warnings: [],
  terminal: {
    ...{ link: "connected", problem: null, state: "ready", detail: "ready" },
    ...{ since: "2026-01-15T12:00:00.000Z", terminalId: "52500001", serialNumber: "SN-1" },
    version: "1.0",
  },
  running: null,
  payments: { inDoubt: 0, notHandedOver: 0 },
  outbox: { pending: 0, parked: 0, sent: 12, oldestAgeSeconds: null, paused: null },
  alarms: [
    {
      id: 41,
      at: "2026-01-15T12:00:00.000Z",
      alarm: "transaction-parked",
      message: "parked for an operator: the gateway refused the order",
      ...orderExample,
      ...itemExample,
      source: "supervisor",
    },
  ],
  disk: { freeBytes: 12000000000, freeMinBytes: 52428800 },
  clock: { now: "2026-01-15T12:05:02.000Z", timeZone: "Europe/Berlin", uptimeSeconds: 3600 },
  versions: { connector: "0.1.0", supervisor: "0.1.0", node: "24.0.0", os: "linux_x64" },
  dailyChoresAt: "03:30",
};
const operationDoneExample = {
  status: "Success",
  error: null,
  ...operationExample,
  ...orderExample,
  code: 0,
  description: "transaction has been cancelled",
  amount: 12,
  currency: "EUR",
};
const transactionExample = {
  id: 155227950169,
  merchant_order_id: "A-1001",
  state: "completed",
  ...{ amount: "12.00", captured_amount: "12.00", refunded_amount: "0.00", currency: "EUR" },
  operations: [{ type: "CAPTURE", status: "COMPLETED", amount: "12.00" }],
};
const outboxExample = {
  ...itemExample,
  ...orderExample,
  state: "parked",
  amount: 12,
  currency: "EUR",
  queuedAt: "2026-01-15T12:00:00.000Z",
  nextTryAt: null,
  settledAt: "2026-01-15T12:00:01.000Z",
  tries: 1,
  ambiguous: false,
  reason: "another code than 0 and 1: the gateway refused: currency invalid",
  lastTry: {
    endedAt: "2026-01-15T12:00:01.000Z",
    class: "order-refused",
    httpStatus: 200,
    code: 3,
    description: "currency invalid",
  },
};

/** Codes, schemas and examples that `document` of a call record gets. */
export const known = {
  errors: { terminal, notCharged, money },
  done,
  message: (text: string) => ({ schema: message, example: { status: "Success", message: text } }),
  ...{ orderExample, operationExample, paymentRequestExample, openApi },
  payment: { schema: paymentAnswer, example: paymentExample },
  lookup: { schema: lookup, example: lookupExample },
  listedPayment: {
    schema: listedPayment,
    example: { ...paymentExample, attempt: 1, archived: false, ...times },
  },
  unexpectedReport: { schema: unexpectedReport, example: unexpectedExample },
  health: { schema: health, example: healthExample },
  operationDone: { schema: operationDone, example: operationDoneExample },
  gatewayTransaction: { schema: gatewayTransaction, example: transactionExample },
  outboxItem: { schema: outboxItem, example: outboxExample },
  outboxDone: {
    schema: outboxDone,
    example: { status: "Success", ...itemExample, message: "Done." },
  },
};
export type Known = typeof known;
