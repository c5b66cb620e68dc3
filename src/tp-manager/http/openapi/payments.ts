import { z } from "zod";
import { type ErrorCode, errorTable } from "../../../shared/catalog/errors.ts";
import { deliveryStateSchema } from "../../../shared/ipc/contract.ts";
import { unmatchedFindings } from "../../attempts/findings.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { warningNames } from "../../orders/answer.ts";
import { settlements } from "../../orders/settlement.ts";
import { abortReasons } from "../../terminal/terminal.ts";
import { customData, customer } from "../body/payment-request.ts";
import { orderActions } from "../order-actions.ts";
import { exampleOf, like, listOf } from "./examples.ts";
import { gatewayStanding } from "./gateway.ts";
import {
  amount,
  currency,
  declineAdvice,
  jsonValue,
  oneOfErrors,
  orderId,
  receipt,
  seenAt,
  terminalIdentity,
  time,
  transactionId,
} from "./schemas.ts";

/** The answers about payments and about the terminal's transactions. */

const text = z.string().nullable();

export const transactionReport = z.object({
  good: z.boolean(),
  resultCode: text,
  resultText: z.string(),
  reason: z.enum(abortReasons).nullable(),
  advice: declineAdvice.optional(),
  amountMinor: z.int().nullable(),
  currencyNumeric: text,
  receiptNumber: text,
  traceNumber: text,
  originalTrace: text,
  terminalId: text,
  localDate: text,
  localTime: text,
  maskedPan: text,
  authorisationNumber: text,
  cardName: text,
  reference: text.optional(),
  differs: z.array(z.string()).optional(),
  contradicts: z.array(z.string()).optional(),
  isOurRegister: z.literal(true).optional(),
  receipt,
  fallbackTicket: z.string(),
});

const lastTransaction = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("none") }),
  z.object({
    kind: z.literal("transaction"),
    report: transactionReport,
    also: z.array(transactionReport).optional(),
  }),
  z.object({
    kind: z.literal("not-told"),
    why: z.string(),
    refused: z.literal(true).optional(),
  }),
]);

export const baseline = z.object({
  identity: terminalIdentity,
  last: lastTransaction,
  clockOffsetMs: z.number().nullable(),
});

export const observation = z.object({
  identity: terminalIdentity,
  last: lastTransaction,
  atMs: z.number(),
  // Members of events that older versions stored.
  knownAs: text.optional(),
  foundByNext: lastTransaction.nullable().optional(),
});

/** An event of an attempt, whose members depend on its kind. */
export const attemptEvent = z.object({
  at: like(time, "2026-01-15T12:05:01.000Z"),
  kind: like(z.string(), "end-completed"),
  ...z
    .object({
      judgement: z.string(),
      report: transactionReport,
      decideBy: time,
      goods: z.enum(["issued", "partly-issued", "not-issued"]),
      why: z.string(),
      amountMinor: z.int(),
      code: z.union([z.string(), z.int()]).nullable(),
      text: z.string(),
      reason: z.string(),
      advice: declineAdvice,
      ticket: z.string(),
      receiptNumber: z.string(),
      because: z.string(),
      observation: observation.nullable(),
      proof: z.object({ facts: z.array(z.string()), assumes: z.array(z.string()), rules: z.int() }),
      baseline,
      toldBefore: z.record(z.string(), jsonValue),
      operationId: z.string(),
      idempotencyKey: z.string(),
      transactionPublicId: z.string(),
      returnKind: z.string(),
      returnedMinor: z.int(),
      state: z.string(),
      description: z.string(),
      outcome: z.enum(settlements),
      note: z.string(),
    })
    .partial().shape,
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
/** The codes that a payment which was not charged can have ended with. */
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
export const paymentErrors = { terminal, notCharged, money };
export const outcomeError = oneOfErrors([...money, ...notCharged, "GOODS_NOT_DELIVERED"]);

export const paymentRequestExample = {
  amount: 12.0,
  orderId: "A-1001",
  currency: "EUR",
  basket: {
    type: "good",
    name: "Ticket",
    quantity: 1,
    unit_price: 12.0,
    tax_rate: 0,
    discount: 0,
    total_amount: 12.0,
  },
  customer: { id: 7, firstname: "Ada", lastname: "Lane", email: "ada@example.com" },
  customData: { kiosk: "K-12", vip: false },
};

const ownId = like(z.string(), "3f0c3f0e-52f5-4b0a-8f0e-0d7a4c8f5a10");
const chargedAmount = like(z.number().nullable(), 12).describe(
  "By the terminal's or an operator's word; null: not known. Returns do not change it.",
);
const period = {
  startedAt: like(time, "2026-01-15T12:04:40.000Z"),
  endedAt: like(time.nullable(), "2026-01-15T12:05:01.000Z"),
};
const payment = {
  status: z.enum(paymentStatuses),
  error: like(outcomeError.nullable(), null),
  receipt,
  ticket: z.string().describe("Printable text, lines separated by |."),
  amount: z.number().describe("As it was asked for, in major units."),
  chargedAmount,
  currency: z.string().length(3),
  orderId: z.string(),
  // These three are repeated as they came in the request, if they came.
  basket: z.unknown().optional().describe("The kiosk's own, whatever it was."),
  customer: customer.nullish(),
  customData: customData.nullish(),
  notificationGatewaySent: like(z.boolean(), true).describe("The gateway has the order now."),
  transactionId: ownId,
  warnings: z.array(z.string()),
};
const replay = {
  replayed: z.literal(true).optional().describe("The order had been answered before."),
  answeredAt: time.optional(),
};
/** The example of a paid order, with the members of its request in their order. */
const paid = {
  status: "Success",
  error: null,
  receipt: exampleOf(receipt),
  ticket: "CARD PAYMENT|EUR 12.00|APPROVED",
  ...paymentRequestExample,
} as const;

export const paymentAnswer = like(z.object({ ...payment, ...replay }), paid);

/** The members of every refusal of a payment; those of the request only if they were understood. */
export const paymentRefusal = z
  .object({ ...payment, ...replay })
  .omit({ status: true, error: true })
  .partial()
  .required({ receipt: true, ticket: true, notificationGatewaySent: true });

export const listedPayment = like(
  z.object({
    ...payment,
    attempt: like(z.int().min(1), 1),
    archived: z.boolean(),
    ...period,
  }),
  exampleOf(paymentAnswer),
);

export const attempt = z.object({
  transactionId: payment.transactionId,
  number: like(z.int().min(1), 1),
  status: payment.status,
  error: payment.error,
  amount,
  chargedAmount,
  currency: like(z.string(), "EUR"),
  ...period,
  baseline: like(baseline.nullable(), null),
  events: listOf(attemptEvent),
});

export const lookup = like(
  z.object({ ...payment, attempts: listOf(attempt).min(1), gateway: gatewayStanding }),
  { ...exampleOf(paymentAnswer), gateway: exampleOf(gatewayStanding) },
);

const card = like(z.string().nullable(), "541333XXXXXX4444").describe(
  "Masked, as the terminal reported it; null: it reported none, or the archive has none.",
);

export const timeline = like(
  lookup.extend({
    card,
    delivery: like(deliveryStateSchema.nullable(), "sent"),
    notes: z.array(
      z.object({
        note: z.enum(warningNames),
        says: z.string(),
        amount: z.number().nullable(),
        at: time.nullable(),
        count: z.int().nullable(),
      }),
    ),
    refundable: z.number().nullable(),
    may: like(z.array(z.enum(orderActions)), ["reverse"]),
  }),
  exampleOf(lookup),
);

export const foundPayment = z.object({
  orderId,
  transactionId,
  attempt: like(z.int().min(1), 1),
  status: payment.status,
  error: z.enum(Object.keys(errorTable) as [string, ...string[]]).nullable(),
  amount,
  chargedAmount: like(z.number().nullable(), 12),
  currency,
  card,
  warnings: payment.warnings,
  startedAt: time,
  endedAt: like(time.nullable(), "2026-01-15T12:00:04.000Z"),
  archived: z.boolean(),
  notificationGatewaySent: like(z.boolean(), true),
});

export const search = z.object({
  payments: listOf(foundPayment),
  next: z.string().nullable(),
  searchedTo: like(time.nullable(), "2026-01-15T12:00:00.000Z"),
});

export const unmatchedTransaction = z.object({
  id: like(z.int(), 1),
  at: time,
  finding: like(z.enum(["open", "not-good", ...unmatchedFindings]), "held"),
  because: like(z.string(), "the terminal has it stored as a sale"),
  foundAt: like(time.nullable(), "2026-01-15T12:00:10.000Z"),
  seenAt,
  receiptNumber: like(text, "0042"),
  traceNumber: like(text, "000123"),
  amountMinor: like(z.int().nullable(), 1200),
  currency: like(z.string(), "EUR"),
  maskedPan: like(text, "541333XXXXXX4444"),
  cardName: like(text, "Mastercard"),
  resultCode: like(text, "00"),
  authorisationNumber: like(text, "123456"),
  localDate: like(text, "0115"),
  localTime: like(text, "130000"),
  terminalId: like(z.string(), "52500001"),
  serialNumber: like(z.string(), "12345678"),
});
