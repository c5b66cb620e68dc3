import { z } from "zod";
import { settlements } from "../../orders/settlement.ts";
import { declineAdvice, jsonValue, receipt, terminalIdentity, time } from "./schemas.ts";

/** Schemas of an attempt's steps in `GET /payment/{orderId}`, as the journal has them. */

const text = z.string().nullable();

export const transactionReport = z
  .object({
    good: z.boolean(),
    resultCode: text,
    resultText: z.string(),
    reason: z
      .enum(["declined", "cancelled", "customer-timeout", "terminal-fault", "already-reversed"])
      .nullable(),
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
    receipt,
    fallbackTicket: z.string(),
  })
  .describe("One result as the terminal reported it, masked. null: the terminal did not say.");

const lastTransaction = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("none") }),
  z.object({ kind: z.literal("transaction"), report: transactionReport }),
  z.object({ kind: z.literal("not-told"), why: z.string() }),
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
  // Of events of older versions.
  knownAs: text.optional(),
  foundByNext: lastTransaction.nullable().optional(),
});

/** Which members an event has depends on its kind. */
export const attemptEvent = z.object({
  at: time,
  kind: z.string(),
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
      baseline,
      toldBefore: z.record(z.string(), jsonValue),
      operationId: z.string(),
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
