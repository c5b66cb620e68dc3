import { z } from "zod";
import { logLevels } from "../../../shared/process/log-file.ts";
import { eventTable, promptTexts } from "../../attempts/event-table.ts";
import { paymentStatuses } from "../../attempts/phase-table.ts";
import { condition, orderId, seenAt, terminalIdentity, time, untilEnd } from "./schemas.ts";

const running = z.object({
  what: z.string(),
  orderId: z.string().nullable(),
  prompt: z.string().nullable(),
  promptTexts,
  goodsBy: z.iso.datetime().nullable(),
  ...untilEnd,
});

const outbox = z.object({
  pending: z.int(),
  parked: z.int(),
  sent: z.int(),
  oldestAgeSeconds: z.int().nullable(),
  paused: z.string().nullable(),
  ambiguous: z.object({ sends: z.int(), inDoubt: z.int(), possibleCopies: z.int() }).nullable(),
});

const alarm = eventTable.alarm.extend({
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

export const health = z.object({
  status: z.enum(["Ready", "NotReady"]),
  reasons: z.array(z.string()),
  obstacles: z.array(z.object({ code: z.string(), says: z.string(), todo: z.string() })),
  warnings: z.array(z.string()),
  notes: z.array(
    z.object({
      note: z.enum(["journal-doubted", "sales-unmatched", "disk-full", "in-doubt"]),
      says: z.string(),
      count: z.int().nullable(),
    }),
  ),
  terminal: eventTable.terminal.extend({ version: z.string() }),
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

/** The answer of `GET /check`; openapi.json describes what the codes of the members mean. */
export const check = z.object({
  cr: z.enum(["0", "1", "2", "9"]),
  card: z.enum(["0", "1"]),
  call: z.enum(["0", "1"]),
  periph: z.enum(["0", "1", "2", "3"]),
  detail: z.string(),
  asOf: z.string(),
});

export const act = z.object({
  id: z.int(),
  at: time,
  login: z.string(),
  name: z.string(),
  reason: z.string(),
  call: z.string(),
  body: z.string().nullable(),
  http: z.int().nullable(),
  code: z.string().nullable(),
});

export const setting = z.object({
  name: z.string(),
  value: z.string().nullable(),
  state: z.enum(["set", "hidden", "default", "unknown"]),
  default: z.string().nullable(),
  origin: z.string(),
  help: z.string(),
});

export const logLine = z.object({
  at: z.string(),
  level: z.enum(logLevels),
  area: z.string().nullable(),
  message: z.string(),
  more: z.string(),
});

export const copy = z.object({ path: z.string(), madeAt: time, bytes: z.int() });

const findings = z.array(
  z.object({
    check: z.string(),
    code: z.string(),
    verdict: z.enum(["ok", "warn", "fail"]),
    says: z.string(),
    todo: z.string().nullable(),
    values: z.record(z.string(), z.union([z.string(), z.number()])),
  }),
);

export const doctor = z.object({
  version: z.string(),
  well: z.boolean(),
  findings,
});

const minor = z.int().describe("In minor units: 999 is 9.99 EUR.");
const countAndSum = z.object({
  count: z.int().nullable().describe("Number of sales; null: the terminal's field is too small."),
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

const compared = eventTable.reconciliation.shape;
/** One comparison in the answer of `GET /reconciliation` (docs/rules/18-totals.md). */
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
  .describe("How many payments have this status; Approved and Unknown have not ended.");
const watched = z.number().nullable().describe("null: the connector did not run in this hour.");
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

const { askedBy, end, applications } = eventTable["end-of-day"].shape;
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
