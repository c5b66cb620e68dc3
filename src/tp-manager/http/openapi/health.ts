import { z } from "zod";
import { eventTable, promptTexts } from "../../attempts/event-table.ts";
import { like, listOf } from "./examples.ts";
import { terminalIdentity, time, trouble } from "./schemas.ts";

export const noteNames = ["journal-doubted", "sales-unmatched", "disk-full", "in-doubt"] as const;

const running = z.object({
  what: z.string(),
  orderId: z.string().nullable(),
  prompt: z.string().nullable().describe("The last one that the terminal showed for it."),
  promptTexts,
  goodsBy: z.iso
    .datetime()
    .nullable()
    .describe("Approved: until when the terminal waits for POST /delivery."),
});

const outbox = z.object({
  pending: z.int(),
  parked: z.int(),
  sent: like(z.int(), 12),
  oldestAgeSeconds: z.int().nullable(),
  paused: z.string().nullable(),
  ambiguous: z
    .object({ sends: z.int(), inDoubt: z.int(), possibleCopies: z.int() })
    .nullable()
    .describe(
      "Sends whose answer was lost; items not sent again before a lookup; orders that the " +
        "gateway may have more than once.",
    ),
});

const alarm = like(
  eventTable.alarm.data.extend({
    id: z.int(),
    at: time,
    trouble: trouble.nullable(),
    endsWhenSeen: like(z.boolean(), true).describe(
      "POST /seen ends it; else it lasts with its cause.",
    ),
  }),
  {
    trouble: null,
    id: 41,
    at: "2026-01-15T12:00:00.000Z",
    alarm: "transaction-parked",
    message: "parked for an operator: the gateway refused the order",
    orderId: "A-1001",
    transactionId: "0b8f6a52-7f5f-4c0e-9d4e-5b3f0a9d1c11",
    source: "supervisor",
  },
);

const updates = z.object({
  asked: like(z.boolean(), true),
  channel: like(z.string(), "stable"),
  lastCheckAt: like(time.nullable(), "2026-01-15T02:41:09.000Z"),
  lastError: z.string().nullable(),
  metadataAt: like(time.nullable(), "2026-01-15T02:41:09.000Z"),
  metadataExpireAt: like(time.nullable(), "2026-01-28T12:00:00.000Z"),
  ready: z.string().nullable().describe("A version that waits to be taken."),
  heldBy: like(z.string().nullable(), "anna"),
  heldSince: like(time.nullable(), "2026-01-14T08:30:00.000Z"),
  heldUntil: like(time.nullable(), "2026-01-19T00:00:00.000Z").describe(
    "When the hold ends by itself; null with a heldBy: when a person ends it.",
  ),
});

/** The answer of `GET /health`. */
export const health = z.object({
  status: z.enum(["Ready", "NotReady"]),
  reasons: z.array(z.string()).describe("Why no payment can be taken now."),
  obstacles: z
    .array(z.object({ code: z.string(), says: z.string(), todo: z.string() }))
    .describe("The reasons, each with the code of the refused payment and what helps."),
  warnings: z.array(z.string()).describe("The notes, and the conditions with what to do."),
  notes: z
    .array(z.object({ note: z.enum(noteNames), says: z.string(), count: z.int().nullable() }))
    .describe("Warnings that are no condition, for programs."),
  terminal: like(eventTable.terminal.data.extend({ version: z.string() }), {
    link: "connected",
    problem: null,
    state: "ready",
    detail: "ready",
    since: "2026-01-15T12:00:00.000Z",
    terminalId: "52500001",
    serialNumber: "SN-1",
    version: "1.0",
  }),
  replaced: like(
    z.object({ accepted: terminalIdentity, found: terminalIdentity }).nullable(),
    null,
  ).describe("Another terminal is connected than the accepted one: who both are."),
  running: like(running.nullable(), null),
  payments: z.object({ inDoubt: z.int(), notHandedOver: z.int() }).nullable(),
  outbox: outbox.nullable().describe("null: the supervisor does not answer."),
  troubles: z
    .array(
      trouble.extend({
        says: z.string(),
        todo: z.string(),
        orderIds: z.array(z.string()).describe("At most 5 of the orders that it is about."),
      }),
    )
    .describe("What the warnings say of the way to the gateway, for programs."),
  alarms: listOf(alarm).describe(
    "Of the last day, or as long as their condition lasts; GET /events has all.",
  ),
  disk: like(z.object({ freeBytes: z.number(), freeMinBytes: z.number() }), {
    freeBytes: 12000000000,
    freeMinBytes: 52428800,
  }).nullable(),
  clock: like(z.object({ now: time, timeZone: z.string(), uptimeSeconds: z.int() }), {
    now: "2026-01-15T12:05:02.000Z",
    timeZone: "Europe/Berlin",
    uptimeSeconds: 3600,
  }),
  versions: z.object({
    connector: like(z.string(), "0.1.0"),
    supervisor: like(z.string(), "0.1.0"),
    node: like(z.string(), "24.0.0"),
    os: like(z.string(), "linux_x64"),
  }),
  dailyChoresAt: like(z.string(), "03:30"),
  updates: updates
    .nullable()
    .describe("null: the supervisor does not say; a checkout of the sources has no updates."),
});
