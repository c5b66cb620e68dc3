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
  chargedElsewhere: like(z.boolean(), true).describe("Another attempt of the order was charged."),
  now: like(z.enum(paymentStatuses).nullable(), "Failed").describe(
    "null: the order is in the archive.",
  ),
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
    result: compared.result.describe(
      "jump: numbers are missing. refuted: and an end of day agreed all the same.",
    ),
    because: like(z.string(), "the terminal has closed more than the journal knows as charged"),
    seenAt,
    currency: like(z.string().nullable(), "EUR"),
    terminal: like(countAndSum, twoSales).nullable(),
    journal: countAndSum.nullable(),
    differenceMinor: like(minor.nullable(), 999).describe(
      "What the terminal has more, in minor units.",
    ),
    receiptFrom: like(z.string().nullable(), "0041"),
    receiptTo: like(z.string().nullable(), "0042"),
    missing: z.int().nullable().describe("How many numbers are missing in a receipt-jump."),
    orders: listOf(suspect).describe("Those that the difference could be."),
    sole: like(z.boolean(), true).describe(
      "Nothing else explains it: it is these orders together.",
    ),
    gateway: gateway.nullable().describe("What the gateway has of the same attempts."),
    cards: z
      .object({
        terminal: listOf(like(cardSum, { name: "Mastercard", ...twoSales })),
        journal: listOf(cardSum),
      })
      .nullable()
      .describe("By card, as terminal and results spell it; nobody compares these."),
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
  medianSeconds: seconds.describe("Of the sales, from the request to the end."),
  longestSeconds: seconds,
  readySeconds: watched(3_540),
  refusingSeconds: watched(0),
  noLinkSeconds: watched(60),
  waitingMax: like(z.int().nullable(), 2).describe("Transactions for the gateway, at most."),
});

const { askedBy, end, applications } = eventTable["end-of-day"].data.shape;
const ended = { name: "Mastercard", status: "0", ...twoSales };
const closing = like(
  z.object({
    startedAt: time,
    endedAt: time.nullable(),
    askedBy,
    end: end.nullable().describe("null: its end was not heard."),
    text: z.string(),
    applications,
    ticket: z.string(),
    reconciliation: reconciliation.nullable().describe("As in GET /reconciliation."),
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
  successShare: like(z.number().min(0).max(1).nullable(), 1).describe("Of those that have ended."),
  sums: listOf(
    z.object({
      currency: like(z.string().length(3), "EUR"),
      sales: like(z.int(), 1),
      charged: like(z.number(), 12),
      returned: z.number().describe("Of what was charged on this day, whenever it went back."),
    }),
  ),
  hours: listOf(hour),
  endsOfDay: listOf(closing),
});
