import { z } from "zod";
import { eventTable, promptTexts } from "../../attempts/event-table.ts";
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
  sent: z.int(),
  oldestAgeSeconds: z.int().nullable(),
  paused: z.string().nullable(),
  ambiguous: z.object({ sends: z.int(), inDoubt: z.int(), possibleCopies: z.int() }).nullable(),
});

const alarm = eventTable.alarm.data.extend({
  id: z.int(),
  at: time,
  trouble: condition.nullable(),
  endsWhenSeen: z.boolean(),
});

const updates = z.object({
  asked: z.boolean(),
  channel: z.string(),
  lastCheckAt: time.nullable(),
  lastError: z.string().nullable(),
  metadataAt: time.nullable(),
  metadataExpireAt: time.nullable(),
  ready: z.string().nullable(),
  heldBy: z.string().nullable(),
  heldSince: time.nullable(),
  heldUntil: time.nullable(),
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
  terminal: eventTable.terminal.data.extend({ version: z.string() }),
  replaced: z.object({ accepted: terminalIdentity, found: terminalIdentity }).nullable(),
  running: running.nullable(),
  payments: z.object({ inDoubt: z.int(), notHandedOver: z.int() }).nullable(),
  outbox: outbox.nullable(),
  troubles: z.array(
    condition.extend({ says: z.string(), todo: z.string(), orderIds: z.array(z.string()) }),
  ),
  alarms: z.array(alarm),
  disk: z.object({ freeBytes: z.number(), freeMinBytes: z.number() }).nullable(),
  clock: z.object({ now: time, timeZone: z.string(), uptimeSeconds: z.int() }),
  versions: z.object({
    connector: z.string(),
    supervisor: z.string(),
    node: z.string(),
    os: z.string(),
  }),
  dailyChoresAt: z.string(),
  updates: updates.nullable(),
});

/** The answer of `GET /check`; the description of the call says what the codes mean. */
export const check = z.object({
  cr: z.enum(["0", "1", "2", "9"]),
  card: z.enum(["0", "1"]),
  call: z.enum(["0", "1"]),
  periph: z.enum(["0", "1", "2", "3"]),
  detail: z.string(),
  asOf: z.string(),
});
