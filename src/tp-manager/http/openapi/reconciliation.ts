import { z } from "zod";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { seenAt, time } from "./schemas.ts";

/** The members of a comparison in `GET /reconciliation` and `/tlc` (docs/rules/18-totals.md). */

const minor = z.int().describe("In minor units: 999 is 9.99 EUR.");
const countAndSum = z.object({
  count: z.int().nullable().describe("null: the terminal's field is too small for it."),
  sumMinor: minor,
});
const cardSum = z.object({ name: z.string(), count: z.int(), sumMinor: minor });

const suspect = z.object({
  orderId: z.string(),
  transactionId: z.string(),
  amountMinor: minor,
  told: z.enum(["charged", "reversed", "declined", "cancelled", "failed", "unknown"]),
  chargedElsewhere: z.boolean().describe("Another attempt of the order was charged."),
  now: z.enum(paymentStatuses).nullable().describe("null: the order is in the archive."),
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

export const reconciliation = z.object({
  id: z.int(),
  at: time,
  kind: z.enum(["end-of-day", "receipt-jump"]),
  result: z
    .enum(["agrees", "differs", "not-comparable", "jump", "refuted"])
    .describe("jump: numbers are missing. refuted: and an end of day agreed all the same."),
  because: z.string(),
  seenAt,
  currency: z.string().nullable(),
  terminal: countAndSum.nullable(),
  journal: countAndSum.nullable(),
  differenceMinor: minor.nullable().describe("What the terminal has more, in minor units."),
  receiptFrom: z.string().nullable(),
  receiptTo: z.string().nullable(),
  missing: z.int().nullable().describe("How many numbers are missing in a receipt-jump."),
  orders: z.array(suspect).describe("Those that the difference could be."),
  sole: z.boolean().describe("Nothing else explains it: it is these orders together."),
  gateway: gateway.nullable().describe("What the gateway has of the same attempts."),
  cards: z
    .object({ terminal: z.array(cardSum), journal: z.array(cardSum) })
    .nullable()
    .describe("By card, as terminal and results spell it; nobody compares these."),
});

const nineNinetyNine = { count: 1, sumMinor: 999 };
export const reconciliationExample = {
  id: 7,
  at: "2026-01-15T21:00:09.000Z",
  kind: "end-of-day",
  result: "differs",
  seenAt: null,
  because: "the terminal has closed more than the journal knows as charged",
  currency: "EUR",
  terminal: { count: 2, sumMinor: 1998 },
  journal: nineNinetyNine,
  differenceMinor: 999,
  receiptFrom: "0041",
  receiptTo: "0042",
  missing: null,
  orders: [
    {
      orderId: "A-1001",
      transactionId: "3f0c3f0e-52f5-4b0a-8f0e-0d7a4c8f5a10",
      amountMinor: 999,
      told: "failed",
      chargedElsewhere: true,
      now: "Failed",
    },
  ],
  sole: true,
  gateway: {
    sums: [
      {
        currency: "EUR",
        charged: nineNinetyNine,
        sent: nineNinetyNine,
        waiting: { count: 0, sumMinor: 0 },
        closed: { count: 0, sumMinor: 0 },
      },
    ],
    faults: [],
  },
  cards: {
    terminal: [{ name: "Mastercard", count: 2, sumMinor: 1998 }],
    journal: [{ name: "Mastercard", ...nineNinetyNine }],
  },
};
