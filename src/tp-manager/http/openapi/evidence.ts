import { z } from "zod";
import { sendingStepFields } from "../../../shared/ipc/contract.ts";
import { settlements } from "../../orders/settlement.ts";
import { declineAdvice, jsonValue, receipt, terminalIdentity, time } from "./schemas.ts";

/** Schemas of `GET /payment/{orderId}`: an attempt's steps, and those of its way to the gateway. */

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
      proof: z
        .object({ facts: z.array(z.string()), assumes: z.array(z.string()), rules: z.int() })
        .describe("What a verdict rests on, and the version of the rules that gave it."),
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

export const sendingStep = z
  .object({
    at: time,
    step: sendingStepFields.step.describe(
      "queued: handed over. try: its end. parked, closed, sent: what ended the tries other than " +
        "the gateway's answer. requeue, drop: a person's word.",
    ),
    number: sendingStepFields.number.describe("Of the try, from 1. Long histories have gaps."),
    outcome: sendingStepFields.outcome.describe("Of the try. not-known: the gateway may have it."),
    class: sendingStepFields.class,
    description: z.string().describe("The gateway's words, the reason, or the person's note."),
    by: z.string().nullable().describe("The person's name and login; null: not known."),
  })
  .describe("The order's way to the gateway, oldest first; empty: an older supervisor.");
