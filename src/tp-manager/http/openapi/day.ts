import { z } from "zod";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { reconciliation, reconciliationExample } from "./reconciliation.ts";
import { time } from "./schemas.ts";

/** The members of `GET /day`. */

const counts = z
  .object(Object.fromEntries(paymentStatuses.map((status) => [status, z.int()])))
  .describe("How many payments ended so; Approved and Unknown have not ended.");
const watched = z.number().nullable().describe("null: nothing was watched in this hour.");

const hour = z.object({
  from: time,
  counts,
  medianSeconds: z.number().nullable().describe("Of the sales, from the request to the end."),
  longestSeconds: z.number().nullable(),
  readySeconds: watched,
  refusingSeconds: watched,
  noLinkSeconds: watched,
  waitingMax: z.int().nullable().describe("Transactions for the gateway, at most."),
});

const closing = z.object({
  startedAt: time,
  endedAt: time.nullable(),
  askedBy: z.enum(["operator", "terminal"]),
  end: z
    .enum(["completed", "refused", "open-pre-authorisations", "failed", "lost"])
    .nullable()
    .describe("null: its end was not heard."),
  text: z.string(),
  applications: z.array(
    z.object({ name: z.string(), status: z.string(), count: z.int(), sumMinor: z.int() }),
  ),
  ticket: z.string(),
  reconciliation: reconciliation.nullable().describe("As in GET /reconciliation."),
});

export const day = z.object({
  date: z.iso.date(),
  timeZone: z.string(),
  from: time,
  until: time,
  complete: z.boolean(),
  counts,
  successShare: z.number().min(0).max(1).nullable().describe("Of those that have ended."),
  sums: z.array(
    z.object({
      currency: z.string().length(3),
      sales: z.int(),
      charged: z.number(),
      returned: z.number().describe("Of what was charged on this day, whenever it went back."),
    }),
  ),
  hours: z.array(hour),
  endsOfDay: z.array(closing),
});

const noCounts = Object.fromEntries(paymentStatuses.map((status) => [status, 0]));
export const dayExample = {
  date: "2026-01-15",
  timeZone: "Europe/Paris",
  from: "2026-01-14T23:00:00.000Z",
  until: "2026-01-15T23:00:00.000Z",
  complete: true,
  counts: { ...noCounts, Success: 1 },
  successShare: 1,
  sums: [{ currency: "EUR", sales: 1, charged: 12.0, returned: 0 }],
  hours: [
    {
      from: "2026-01-15T12:00:00.000Z",
      counts: { ...noCounts, Success: 1 },
      medianSeconds: 4,
      longestSeconds: 4,
      readySeconds: 3_540,
      refusingSeconds: 0,
      noLinkSeconds: 60,
      waitingMax: 2,
    },
  ],
  endsOfDay: [
    {
      startedAt: "2026-01-15T21:00:00.000Z",
      endedAt: "2026-01-15T21:00:09.000Z",
      askedBy: "operator",
      end: "completed",
      text: "",
      ticket: "",
      applications: [{ name: "Mastercard", status: "0", count: 2, sumMinor: 1998 }],
      reconciliation: reconciliationExample,
    },
  ],
};
