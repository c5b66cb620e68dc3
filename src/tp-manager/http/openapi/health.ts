import { z } from "zod";
import { eventTable, promptTexts } from "../../attempts/event-table.ts";
import { like, listOf } from "./examples.ts";
import { condition, terminalIdentity, time } from "./schemas.ts";

export const noteNames = ["journal-doubted", "sales-unmatched", "disk-full", "in-doubt"] as const;

const running = z.object({
  what: z.string(),
  orderId: z.string().nullable(),
  prompt: z.string().nullable(),
  promptTexts,
  goodsBy: z.iso.datetime().nullable(),
});

const outbox = z.object({
  pending: z.int(),
  parked: z.int(),
  sent: like(z.int(), 12),
  oldestAgeSeconds: z.int().nullable(),
  paused: z.string().nullable(),
  ambiguous: z.object({ sends: z.int(), inDoubt: z.int(), possibleCopies: z.int() }).nullable(),
});

const alarm = like(
  eventTable.alarm.data.extend({
    id: z.int(),
    at: time,
    trouble: condition.nullable(),
    endsWhenSeen: like(z.boolean(), true),
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
  ready: z.string().nullable(),
  heldBy: like(z.string().nullable(), "anna"),
  heldSince: like(time.nullable(), "2026-01-14T08:30:00.000Z"),
  heldUntil: like(time.nullable(), "2026-01-19T00:00:00.000Z"),
});

/** The answer of `GET /health`. */
export const health = z.object({
  status: z.enum(["Ready", "NotReady"]),
  reasons: z.array(z.string()),
  obstacles: z.array(z.object({ code: z.string(), says: z.string(), todo: z.string() })),
  warnings: z.array(z.string()),
  notes: z.array(
    z.object({ note: z.enum(noteNames), says: z.string(), count: z.int().nullable() }),
  ),
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
  ),
  running: like(running.nullable(), null),
  payments: z.object({ inDoubt: z.int(), notHandedOver: z.int() }).nullable(),
  outbox: outbox.nullable(),
  troubles: z.array(
    condition.extend({
      says: z.string(),
      todo: z.string(),
      orderIds: z.array(z.string()),
    }),
  ),
  alarms: listOf(alarm),
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
  updates: updates.nullable(),
});

/** The answer of `GET /check`; the description of the call says what the codes mean. */
export const check = z.object({
  cr: z.enum(["0", "1", "2", "9"]),
  card: z.enum(["0", "1"]),
  call: z.enum(["0", "1"]),
  periph: z.enum(["0", "1", "2", "3"]),
  detail: like(z.string(), "ready"),
  asOf: like(z.string(), "2026-01-15T11:59:58.321Z"),
});
