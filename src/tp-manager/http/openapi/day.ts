import { z } from "zod";
import { eventTable } from "../../attempts/event-table.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { like, listOf } from "./examples.ts";
import { orderId, seenAt, time } from "./schemas.ts";

/** The answers of `GET /day` and of `GET /reconciliation` (docs/rules/18-totals.md). */

const minor = like(z.int().describe("In minor units: 999 is 9.99 EUR."), 999);
const countAndSum = z.object({
  count: like(z.int().nullable(), 1).describe("null: the terminal's field is too small for it."),
  sumMinor: minor,
});
const none = { count: 0, sumMinor: 0 };
/** In the example the terminal has one sale more than the journal. */
const twoSales = { count: 2, sumMinor: 1998 };
const cardSum = z.object({
  name: like(z.string(), "Mastercard"),
  count: like(z.int(), 1),
  sumMinor: minor,
});

const suspect = z.object({
  orderId,
  transactionId: like(z.string(), "3f0c3f0e-52f5-4b0a-8f0e-0d7a4c8f5a10"),
  amountMinor: minor,
  told: like(
    z.enum(["charged", "reversed", "declined", "cancelled", "failed", "unknown"]),
    "failed",
  ),
  chargedElsewhere: like(z.boolean(), true),
  now: like(z.enum(paymentStatuses).nullable(), "Failed"),
});

const gateway = z.object({
  sums: listOf(
    z.object({
      currency: like(z.string(), "EUR"),
      charged: countAndSum,
      sent: countAndSum,
      waiting: like(countAndSum, none),
      closed: like(countAndSum, none),
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
export const reconciliation = like(
  z.object({
    id: z.int(),
    at: time,
    kind: compared.kind,
    result: compared.result,
    because: like(z.string(), "the terminal has closed more than the journal knows as charged"),
    seenAt,
    currency: like(z.string().nullable(), "EUR"),
    terminal: like(countAndSum, twoSales).nullable(),
    journal: countAndSum.nullable(),
    differenceMinor: like(minor.nullable(), 999),
    receiptFrom: like(z.string().nullable(), "0041"),
    receiptTo: like(z.string().nullable(), "0042"),
    missing: z.int().nullable(),
    orders: listOf(suspect),
    sole: like(z.boolean(), true),
    gateway: gateway.nullable(),
    cards: z
      .object({
        terminal: listOf(like(cardSum, { name: "Mastercard", ...twoSales })),
        journal: listOf(cardSum),
      })
      .nullable(),
  }),
  { id: 7, at: "2026-01-15T21:00:09.000Z", kind: "end-of-day", result: "differs", seenAt: null },
);

const counts = like(
  z.object(Object.fromEntries(paymentStatuses.map((status) => [status, z.int()]))),
  { Success: 1 },
).describe("How many payments ended so; Approved and Unknown have not ended.");
const watched = (example: number) =>
  like(z.number().nullable(), example).describe("null: nothing was watched in this hour.");
const seconds = like(z.number().nullable(), 4);

const hour = z.object({
  from: time,
  counts,
  medianSeconds: seconds,
  longestSeconds: seconds,
  readySeconds: watched(3_540),
  refusingSeconds: watched(0),
  noLinkSeconds: watched(60),
  waitingMax: like(z.int().nullable(), 2),
});

const { askedBy, end, applications } = eventTable["end-of-day"].data.shape;
const ended = { name: "Mastercard", status: "0", ...twoSales };
const closing = like(
  z.object({
    startedAt: time,
    endedAt: time.nullable(),
    askedBy,
    end: end.nullable(),
    text: z.string(),
    applications,
    ticket: z.string(),
    reconciliation: reconciliation.nullable(),
  }),
  {
    startedAt: "2026-01-15T21:00:00.000Z",
    endedAt: "2026-01-15T21:00:09.000Z",
    askedBy: "operator",
    end: "completed",
    text: "",
    ticket: "",
    applications: [ended],
  },
);

export const day = z.object({
  date: like(z.iso.date(), "2026-01-15"),
  timeZone: like(z.string(), "Europe/Paris"),
  from: like(time, "2026-01-14T23:00:00.000Z"),
  until: like(time, "2026-01-15T23:00:00.000Z"),
  complete: like(z.boolean(), true),
  counts,
  successShare: like(z.number().min(0).max(1).nullable(), 1),
  sums: listOf(
    z.object({
      currency: like(z.string().length(3), "EUR"),
      sales: like(z.int(), 1),
      charged: like(z.number(), 12),
      returned: z.number(),
    }),
  ),
  hours: listOf(hour),
  endsOfDay: listOf(closing),
});
