import { z } from "zod";
import { errorTable } from "../../../shared/catalog/errors.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { warningNames } from "../../orders/warnings.ts";
import { storyActs } from "../story-acts.ts";
import { time } from "./schemas.ts";

/** The members of `GET /payments/search`, and those that `GET /story/{orderId}` adds. */

export const maskedExample = "541333XXXXXX4444";
export const maskedCard = z
  .string()
  .nullable()
  .describe("Masked, as the terminal told it; null: it told none, or the archive has none.");
export const may = z
  .array(z.enum(storyActs))
  .describe("What the order's state and the pair that asks allow; the call judges again.");

export const storyNotes = z
  .array(
    z.object({
      note: z.enum(warningNames),
      says: z.string(),
      amount: z.number().nullable(),
      at: time.nullable(),
      count: z.int().nullable(),
    }),
  )
  .describe("The `warnings`, each with its name and its figures.");
export const refundable = z
  .number()
  .nullable()
  .describe("What a refund without an amount gives back; null: none may be made now.");

export const foundPayment = z.object({
  orderId: z.string(),
  transactionId: z.string(),
  attempt: z.int().min(1),
  status: z.enum(paymentStatuses),
  error: z
    .enum(Object.keys(errorTable) as [string, ...string[]])
    .nullable()
    .describe("A code of the error table."),
  amount: z.number(),
  chargedAmount: z.number().nullable(),
  currency: z.string().length(3),
  card: maskedCard,
  warnings: z.array(z.string()),
  startedAt: time,
  endedAt: time.nullable(),
  archived: z.boolean(),
  notificationGatewaySent: z.boolean(),
});

export const search = z.object({
  payments: z.array(foundPayment),
  next: z.string().nullable().describe("The cursor that continues; null: all was looked at."),
  searchedTo: time.nullable().describe("When the oldest began that this call looked at."),
});

export const searchExample = {
  payments: [
    {
      orderId: "A-1001",
      transactionId: "0b8f6a52-7f5f-4c0e-9d4e-5b3f0a9d1c11",
      attempt: 1,
      status: "Success",
      error: null,
      amount: 12.0,
      chargedAmount: 12.0,
      currency: "EUR",
      card: maskedExample,
      warnings: [],
      startedAt: "2026-01-15T12:00:00.000Z",
      endedAt: "2026-01-15T12:00:04.000Z",
      archived: false,
      notificationGatewaySent: true,
    },
  ],
  next: null,
  searchedTo: "2026-01-15T12:00:00.000Z",
};
