import { z } from "zod";
import { eventTable } from "../../attempts/event-table.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { orderId, seenAt, time } from "./schemas.ts";

/** The answers of `GET /day` and of `GET /reconciliation` (docs/rules/18-totals.md). */

const minor = z.int().describe("In minor units: 999 is 9.99 EUR.");
const countAndSum = z.object({
  count: z.int().nullable().describe("null: the terminal's field is too small for it."),
  sumMinor: minor,
});
const cardSum = z.object({ name: z.string(), count: z.int(), sumMinor: minor });

const suspect = z.object({
  orderId,
  transactionId: z.string(),
  amountMinor: minor,
  told: z.enum(["charged", "reversed", "declined", "cancelled", "failed", "unknown"]),
  chargedElsewhere: z.boolean(),
  now: z.enum(paymentStatuses).nullable(),
});

const gateway = z.object({
  sums: z.array(
    z.object({
      currency: z.string(),
      charged: countAndSum,
      sent: countAndSum,
      waiting: countAndSum,
      closed: countAndSum,
    }),
  ),
  faults: z.array(
    z.object({
      orderId: z.string(),
      transactionId: z.string(),
      currency: z.string(),
      because: z.string(),
      amountMinor: minor,
    }),
  ),
});

const compared = eventTable.reconciliation.data.shape;
export const reconciliation = z.object({
  id: z.int(),
  at: time,
  kind: compared.kind,
  result: compared.result,
  because: z.string(),
  seenAt,
  currency: z.string().nullable(),
  terminal: countAndSum.nullable(),
  journal: countAndSum.nullable(),
  differenceMinor: minor.nullable(),
  receiptFrom: z.string().nullable(),
  receiptTo: z.string().nullable(),
  missing: z.int().nullable(),
  orders: z.array(suspect),
  sole: z.boolean(),
  gateway: gateway.nullable(),
  cards: z.object({ terminal: z.array(cardSum), journal: z.array(cardSum) }).nullable(),
});

const counts = z
  .object(Object.fromEntries(paymentStatuses.map((status) => [status, z.int()])))
  .describe("How many payments ended so; Approved and Unknown have not ended.");
const watched = z.number().nullable().describe("null: nothing was watched in this hour.");
const seconds = z.number().nullable();

const hour = z.object({
  from: time,
  counts,
  medianSeconds: seconds,
  longestSeconds: seconds,
  readySeconds: watched,
  refusingSeconds: watched,
  noLinkSeconds: watched,
  waitingMax: z.int().nullable(),
});

const { askedBy, end, applications } = eventTable["end-of-day"].data.shape;
const closing = z.object({
  startedAt: time,
  endedAt: time.nullable(),
  askedBy,
  end: end.nullable(),
  text: z.string(),
  applications,
  ticket: z.string(),
  reconciliation: reconciliation.nullable(),
});

export const day = z.object({
  date: z.iso.date(),
  timeZone: z.string(),
  from: time,
  until: time,
  complete: z.boolean(),
  counts,
  successShare: z.number().min(0).max(1).nullable(),
  sums: z.array(
    z.object({
      currency: z.string().length(3),
      sales: z.int(),
      charged: z.number(),
      returned: z.number(),
    }),
  ),
  hours: z.array(hour),
  endsOfDay: z.array(closing),
});
