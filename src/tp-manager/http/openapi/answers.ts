import { z } from "zod";
import { type ErrorCode, errorTable } from "../../../shared/errors.ts";
import { receiptFields } from "../../../shared/receipt.ts";
import { listStatuses } from "../../attempts/attempt-store.ts";
import { eventTable } from "../../attempts/event-table.ts";
import { strayFindings } from "../../attempts/stray-policy.ts";
import { gatewayStanding } from "./gateway-answers.ts";

/** Every object the local API answers, by the name it has in the OpenAPI document. */

const codes = Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]];
const charged = z
  .enum(["no", "yes", "unknown"])
  .describe("Whether the order is charged: no, yes, or not known yet.");

export const apiError = z.object({
  code: z.enum(codes).describe("See the table in the document's description."),
  message: z.string().describe("For people; may change."),
  charged,
  retry: z
    .enum(["safe", "same_order", "after_recovery", "never"])
    .describe("What the kiosk's program may do."),
  details: z.record(z.string(), z.unknown()),
});

export const receipt = z
  .object(Object.fromEntries(receiptFields.map((field) => [field, z.string()])))
  .describe('All 32 fields, every one a text; "" where the terminal does not say.');

const time = z.iso.datetime();
const echo = z.unknown().optional();

const payment = {
  status: z.enum(listStatuses),
  error: apiError.nullable(),
  receipt,
  ticket: z.string().describe("Printable text, lines separated by |."),
  amount: z.number().describe("As it was asked for, in major units."),
  currency: z.string().length(3),
  orderId: z.string(),
  basket: echo.describe("As it came; absent when it was not sent."),
  customer: echo,
  customData: echo,
  notificationGatewaySent: z.boolean().describe("The gateway has the order now."),
  transactionId: z.string(),
  warnings: z.array(z.string()),
};

/** Members that later versions add are no breach of the contract. */
export const paymentAnswer = z.object({
  ...payment,
  replayed: z.literal(true).optional().describe("The order had been answered before."),
  answeredAt: time.optional(),
});

export const listedPayment = z.object({
  ...payment,
  attempt: z.int().min(1),
  archived: z.boolean().describe("Older than JOURNAL_DAYS: receipt, ticket and echoes are gone."),
  startedAt: time,
  endedAt: time.nullable(),
});

const attempt = z.object({
  transactionId: z.string(),
  number: z.int().min(1),
  status: z.enum(listStatuses),
  error: apiError.nullable(),
  amount: z.number(),
  currency: z.string(),
  startedAt: time,
  endedAt: time.nullable(),
  baseline: z.unknown().describe("What the terminal looked like before; null without one."),
  events: z.array(z.looseObject({ at: time, kind: z.string() })),
});

export const unexpectedReport = z.object({
  id: z.int(),
  at: time,
  finding: z
    .enum(["open", "not-good", ...strayFindings])
    .describe(
      "open: the terminal is being asked. held: it has the sale stored. reversed, gone: it has " +
        "not. known: an order's. unclear: nobody can tell. not-good: the terminal says it failed.",
    ),
  because: z.string(),
  foundAt: time.nullable(),
  receiptNumber: z.string().nullable(),
  traceNumber: z.string().nullable(),
  amountMinor: z.int().nullable().describe("In minor units: 999 is 9.99 EUR."),
  currency: z.string(),
  maskedPan: z.string().nullable(),
  cardName: z.string().nullable(),
  resultCode: z.string().nullable(),
  authorisationNumber: z.string().nullable(),
  localDate: z.string().nullable().describe("The terminal's MMDD."),
  localTime: z.string().nullable().describe("The terminal's HHMMSS."),
  terminalId: z.string(),
  serialNumber: z.string(),
});

export const lookup = z.looseObject({
  ...payment,
  attempts: z.array(attempt).min(1),
  gateway: gatewayStanding,
});

/** What can be repeated of a request that was understood stands beside status and error. */
export const failure = z.looseObject({ status: z.enum(["Failed", "Unknown"]), error: apiError });

const done = { status: z.literal("Success"), message: z.string() };
export const cancelled = z.object({ ...done, cancelled: z.literal(true) });
export const stopped = z.object({ ...done, stopped: z.boolean() });
export const message = z.object(done);

const version = { version: z.string(), type: z.literal("tpa"), os: z.string() };
export const versionAnswer = z.object(version);
export const configAnswer = z.object({
  ...version,
  serialNumber: z.string(),
  deviceId: z.string(),
  terminalId: z.string(),
  terminalVersion: z.string().describe("the terminal's own; version is the connector's"),
});

export const checkAnswer = z.object({
  cr: z.enum(["0", "1", "2", "9"]).describe("0 ready, 1 busy, 2 action needed, 9 no link"),
  card: z.enum(["0", "1"]).describe("1: a card is in the reader"),
  call: z.enum(["0", "1"]).describe("1: a call to the host or an end of day is due"),
  periph: z.enum(["0", "1", "2", "3"]).describe("1 reader, 2 printer, 3 other fault"),
  detail: z.string(),
});

export const telecollection = z.object({
  NbApp: z.string(),
  App: z.array(
    z.object({ Name: z.string(), Status: z.string(), Count: z.string(), Sum: z.string() }),
  ),
  ticket: z.string(),
});

export const health = z.object({
  status: z.enum(["Ready", "NotReady"]),
  reasons: z.array(z.string()).describe("Why no payment can be taken now."),
  warnings: z.array(z.string()),
  terminal: eventTable.terminal.data.extend({ version: z.string() }),
  running: z.object({ what: z.string(), orderId: z.string().nullable() }).nullable(),
  payments: z.object({ inDoubt: z.int(), notHandedOver: z.int() }).nullable(),
  outbox: z
    .object({
      pending: z.int(),
      parked: z.int(),
      sent: z.int(),
      oldestAgeSeconds: z.int().nullable(),
      paused: z.string().nullable(),
    })
    .nullable()
    .describe("null: the supervisor does not answer."),
  alarms: z
    .array(eventTable.alarm.data.extend({ id: z.int(), at: time }))
    .describe("The newest of the last day; GET /events has all that are kept."),
  disk: z.object({ freeBytes: z.number(), freeMinBytes: z.number() }).nullable(),
  clock: z.object({ now: time, timeZone: z.string(), uptimeSeconds: z.int() }),
  versions: z.object({
    connector: z.string(),
    supervisor: z.string(),
    node: z.string(),
    os: z.string(),
  }),
  dailyChoresAt: z.string(),
});
