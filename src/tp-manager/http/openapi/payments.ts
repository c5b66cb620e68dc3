import { z } from "zod";
import { errorTable } from "../../../shared/catalog/errors.ts";
import { deliveryStateSchema } from "../../../shared/ipc/contract.ts";
import { unmatchedFindings } from "../../attempts/findings.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { warningNames } from "../../orders/answer.ts";
import { settlements } from "../../orders/settlement.ts";
import { abortReasons } from "../../terminal/terminal.ts";
import { customData, customer } from "../body/payment-request.ts";
import { orderActions } from "../order-actions.ts";
import { gatewayStanding } from "./gateway.ts";
import {
  amount,
  currency,
  declineAdvice,
  jsonValue,
  orderId,
  outcomeError,
  receipt,
  seenAt,
  terminalIdentity,
  time,
  transactionId,
  untilEnd,
} from "./schemas.ts";

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
  namedAt: z.string().optional(),
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
  registerId: z.string().optional(),
});

const recollection = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("answered"),
    report: transactionReport,
    ticket: z.string().optional(),
  }),
  z.object({ kind: z.literal("running") }),
  z.object({ kind: z.literal("not-found") }),
  z.object({ kind: z.literal("not-told"), why: z.string() }),
  z.object({ kind: z.literal("unanswered"), why: z.string() }),
]);

export const observation = z.object({
  identity: terminalIdentity,
  last: lastTransaction,
  atMs: z.number(),
  recalled: recollection.optional(),
  // Only events that older versions stored have these members.
  knownAs: text.optional(),
  foundByNext: lastTransaction.nullable().optional(),
});

/** An event of an attempt, whose members depend on its kind. */
export const attemptEvent = z.object({
  at: time,
  kind: z.string(),
  ...z
    .object({
      judgement: z.string(),
      report: transactionReport,
      decideBy: time,
      goods: z.enum(["issued", "partly-issued", "not-issued"]),
      unsaid: z.literal(true).describe("The kiosk decided nothing about the goods in time."),
      why: z.string(),
      answer: z.string(),
      amountMinor: z.int(),
      code: z.union([z.string(), z.int()]).nullable(),
      text: z.string(),
      reason: z.string(),
      advice: declineAdvice,
      ticket: z.string(),
      receiptNumber: z.string(),
      reference: z.string(),
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
      reversed: z.boolean(),
      delivery: deliveryStateSchema,
      outcome: z.enum(settlements),
      note: z.string(),
    })
    .partial().shape,
});

const chargedAmount = z
  .number()
  .nullable()
  .describe("As terminal or operator reported it; null: not known. Returns do not change it.");
const period = { startedAt: time, endedAt: time.nullable() };
const payment = {
  status: z.enum(paymentStatuses),
  error: outcomeError.nullable(),
  receipt,
  ticket: z.string().describe("Printable text, lines separated by |. Print it only at Success."),
  amount: z.number().describe("The requested amount, in major units."),
  chargedAmount,
  currency: z.string().length(3),
  orderId: z.string(),
  basket: z.unknown().optional().describe("The basket as the kiosk sent it."),
  customer: customer.nullish(),
  customData: customData.nullish(),
  notificationGatewaySent: z.boolean().describe("Whether the gateway has received the order."),
  transactionId,
  warnings: z.array(z.string()),
};
const replay = {
  replayed: z.literal(true).optional().describe("Present if the order was answered before."),
  answeredAt: time.optional(),
};
export const paymentAnswer = z.object({ ...payment, ...replay });

/** The members of every refusal of a payment; those of the request only if it could be read. */
export const paymentRefusal = z
  .object({ ...payment, ...replay })
  .omit({ status: true, error: true })
  .partial()
  .required({ receipt: true, ticket: true, notificationGatewaySent: true });

export const listedPayment = z.object({
  ...payment,
  attempt: z.int().min(1),
  archived: z.boolean(),
  ...period,
});

export const attempt = z.object({
  transactionId: payment.transactionId,
  number: z.int().min(1),
  status: payment.status,
  error: payment.error,
  amount,
  chargedAmount,
  currency: z.string(),
  ...period,
  baseline: baseline.nullable(),
  events: z.array(attemptEvent),
});

const attempts = z.array(attempt).min(1);
export const lookup = z.object({ ...payment, ...untilEnd, attempts, gateway: gatewayStanding });

const card = z
  .string()
  .nullable()
  .describe("The masked card number; null: the terminal reported none, or the archive has none.");

export const timeline = lookup.extend({
  card,
  delivery: deliveryStateSchema.nullable(),
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
  may: z.array(z.enum(orderActions)),
  settlement: z
    .object({
      attempt: z.int().min(1),
      outcomes: z.array(z.enum(settlements)),
      amounts: z.array(z.number()).describe("What can have been charged."),
      from: time.nullable().describe("Until then a decision is refused; null: it is not."),
    })
    .nullable()
    .describe("What an operator can decide about the order; null: nothing."),
});

export const foundPayment = z.object({
  orderId,
  transactionId,
  attempt: z.int().min(1),
  status: payment.status,
  error: z.enum(Object.keys(errorTable) as [string, ...string[]]).nullable(),
  amount,
  chargedAmount: z.number().nullable(),
  currency,
  card,
  warnings: payment.warnings,
  ...period,
  archived: z.boolean(),
  notificationGatewaySent: z.boolean(),
});

export const search = z.object({
  payments: z.array(foundPayment),
  next: z.string().nullable(),
  searchedTo: time.nullable(),
});

export const unmatchedTransaction = z.object({
  id: z.int(),
  at: time,
  finding: z.enum(["open", "not-good", ...unmatchedFindings]),
  because: z.string(),
  foundAt: time.nullable(),
  seenAt,
  receiptNumber: text,
  traceNumber: text,
  amountMinor: z.int().nullable(),
  currency: z.string(),
  maskedPan: text,
  cardName: text,
  resultCode: text,
  authorisationNumber: text,
  localDate: text,
  localTime: text,
  terminalId: z.string(),
  serialNumber: z.string(),
});
