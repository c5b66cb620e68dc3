import { z } from "zod";
import type { ErrorCode } from "../../../shared/errors.ts";
import {
  deliveryStateSchema,
  gatewayOperationKindSchema,
  gatewayOperationSchema,
  gatewayStateSchema,
} from "../../../shared/ipc/contract.ts";
import { eventTable, promptTexts } from "../../attempts/event-table.ts";
import { strayFindings } from "../../attempts/ladder-policy.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { basket, cartObject, customData, customer, paymentRequest } from "../payment-request.ts";
import { noteNames } from "../status/health.ts";
import {
  healthExample,
  itemExample,
  lookupExample,
  openAtGatewayExample,
  operationDoneExample,
  operationExample,
  orderExample,
  outboxExample,
  paymentExample,
  paymentRequestExample,
  times,
  transactionExample,
  unexpectedExample,
} from "./answer-examples.ts";
import { consoleAnswers, consoleSchemas } from "./console.ts";
import { day, dayExample } from "./day.ts";
import * as evidence from "./evidence.ts";
import {
  foundPayment,
  maskedCard,
  maskedExample,
  may,
  refundable,
  search,
  searchExample,
  storyNotes,
} from "./found-payments.ts";
import { reconciliation, reconciliationExample } from "./reconciliation.ts";
import {
  jsonValue,
  oneOfErrors,
  receipt,
  seenAt,
  terminalIdentity,
  time,
  trouble,
} from "./schemas.ts";

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
  ...(["CUSTOMER_TIMEOUT", "SETTLED_NOT_CHARGED", "CURRENCY_REFUSED"] as const),
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
      sending: z.array(evidence.sendingStep),
      history: z.array(gatewayEvent),
      operations: z.array(gatewayOperation),
      possibleOrders: z
        .int()
        .min(0)
        .describe("How many orders of it the gateway may have; 0: nothing of that is open."),
      failed: z
        .array(z.string())
        .describe("Ids of operations that were answered as done and then notified as failed."),
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

const story = lookup.extend({
  card: maskedCard,
  delivery: deliveryStateSchema.nullable().describe("On its way to the gateway; null: nothing is."),
  notes: storyNotes,
  refundable,
  may,
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

const health = z.object({
  status: z.enum(["Ready", "NotReady"]),
  reasons: z.array(z.string()).describe("Why no payment can be taken now."),
  obstacles: z
    .array(z.object({ code: z.string(), says: z.string(), todo: z.string() }))
    .describe("The reasons, each with the code of the refused payment and what helps."),
  warnings: z.array(z.string()).describe("The notes, and the troubles with what to do."),
  notes: z
    .array(z.object({ note: z.enum(noteNames), says: z.string(), count: z.int().nullable() }))
    .describe("Warnings that are no trouble, for programs."),
  terminal: eventTable.terminal.data.extend({ version: z.string() }),
  replaced: z
    .object({ accepted: terminalIdentity, found: terminalIdentity })
    .nullable()
    .describe("Another terminal is connected than the accepted one: who both are."),
  running: z
    .object({
      what: z.string(),
      orderId: z.string().nullable(),
      prompt: z.string().nullable().describe("The last one that the terminal showed for it."),
      promptTexts,
      goodsBy: z.iso
        .datetime()
        .nullable()
        .describe("Approved: until when the terminal waits for POST /delivery."),
    })
    .nullable(),
  payments: z.object({ inDoubt: z.int(), notHandedOver: z.int() }).nullable(),
  outbox: z
    .object({
      pending: z.int(),
      parked: z.int(),
      sent: z.int(),
      oldestAgeSeconds: z.int().nullable(),
      paused: z.string().nullable(),
      ambiguous: z
        .object({ sends: z.int(), inDoubt: z.int(), possibleCopies: z.int() })
        .nullable()
        .describe(
          "Sends whose answer was lost; items not sent again before a lookup; orders that the " +
            "gateway may have more than once.",
        ),
    })
    .nullable()
    .describe("null: the supervisor does not answer."),
  troubles: z
    .array(
      trouble.extend({
        ...{ says: z.string(), todo: z.string() },
        orderIds: z.array(z.string()).describe("At most 5 of the orders that it is about."),
      }),
    )
    .describe("What the warnings say of the way to the gateway, for programs."),
  alarms: z
    .array(
      eventTable.alarm.data.extend({
        ...{ id: z.int(), at: time, trouble: trouble.nullable() },
        endsWhenSeen: z.boolean().describe("POST /seen ends it; else it lasts with its cause."),
      }),
    )
    .describe("Of the last day, or as long as their trouble lasts; GET /events has all."),
  disk: z.object({ freeBytes: z.number(), freeMinBytes: z.number() }).nullable(),
  clock: z.object({ now: time, timeZone: z.string(), uptimeSeconds: z.int() }),
  versions: z.object({
    connector: z.string(),
    supervisor: z.string(),
    node: z.string(),
    os: z.string(),
  }),
  dailyChoresAt: z.string(),
  updates: z
    .object({
      asked: z.boolean(),
      channel: z.string(),
      lastCheckAt: time.nullable(),
      lastError: z.string().nullable(),
      metadataAt: time.nullable(),
      metadataExpireAt: time.nullable(),
      ready: z.string().nullable().describe("A version that waits to be taken."),
      heldBy: z.string().nullable(),
      heldSince: time.nullable(),
      heldUntil: time
        .nullable()
        .describe("When the hold ends by itself; null with a heldBy: when somebody ends it."),
    })
    .nullable()
    .describe("null: the supervisor does not tell; a checkout of the sources has no updates."),
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

const openAtGateway = z.object({
  operations: z.array(
    z.object({
      operationId: z.string(),
      kind: gatewayOperationKindSchema,
      orderId: z.string().nullable().describe("null: not one of this installation's."),
      transactionPublicId: publicId,
      amount: z.number().nullable().describe("null: all of it."),
      currency: z.string().length(3),
      askedAt: time,
      description: z.string(),
    }),
  ),
  copies: z.array(
    z.object({
      orderId: z.string(),
      transactionId: z.string(),
      amount: z.number(),
      currency: z.string().length(3),
      possibleOrders: z.int().min(2),
      transactionPublicIds: z.array(publicId).describe("Those that the gateway has named."),
      mayBeSent: z.boolean().describe("The order still waits: nothing can be settled yet."),
    }),
  ),
  more: z.boolean().describe("There are others."),
});

const outboxItem = z.object({
  transactionId: z.string(),
  orderId: z.string(),
  state: z.enum([...deliveryStateSchema.options, "refused"]),
  amount: z.number(),
  currency: z.string().length(3),
  queuedAt: time,
  nextTryAt: time.nullable(),
  settledAt: time.nullable(),
  tries: z.int().min(0),
  ambiguous: z.boolean().describe("The answer of at least one try was lost."),
  reason: z.string().nullable().describe("Why it is parked, refused or closed."),
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
  ...{ reconciliation, foundPayment, ...consoleSchemas },
  ...{ operationDone, gatewayStanding, gatewayTransaction, openAtGateway, outboxItem },
  ...{ outboxDone, message },
  ...{ attemptEvent: evidence.attemptEvent, baseline: evidence.baseline, jsonValue },
  ...{ transactionReport: evidence.transactionReport, observation: evidence.observation },
  ...{ paymentRequest, basket, cartObject, customer, customData, outcomeError },
};

/** Codes, schemas and examples that `document` of a call record gets. */
export const known = {
  errors: { terminal, notCharged, money },
  done,
  message: (text: string) => ({ schema: message, example: { status: "Success", message: text } }),
  ...{ orderExample, operationExample, paymentRequestExample, openApi },
  payment: { schema: paymentAnswer, example: paymentExample },
  lookup: { schema: lookup, example: lookupExample },
  story: {
    schema: story,
    example: {
      ...lookupExample,
      card: maskedExample,
      delivery: "sent",
      notes: [],
      refundable: null,
      may: ["reverse"],
    },
  },
  day: { schema: day, example: dayExample },
  search: { schema: search, example: searchExample },
  listedPayment: {
    schema: listedPayment,
    example: { ...paymentExample, attempt: 1, archived: false, ...times },
  },
  unexpectedReport: { schema: unexpectedReport, example: unexpectedExample },
  ...consoleAnswers,
  reconciliation: { schema: reconciliation, example: reconciliationExample },
  health: { schema: health, example: healthExample },
  operationDone: { schema: operationDone, example: operationDoneExample },
  gatewayTransaction: { schema: gatewayTransaction, example: transactionExample },
  openAtGateway: { schema: openAtGateway, example: openAtGatewayExample },
  outboxItem: { schema: outboxItem, example: outboxExample },
  outboxDone: {
    schema: outboxDone,
    example: { status: "Success", ...itemExample, message: "Done." },
  },
};
export type Known = typeof known;
