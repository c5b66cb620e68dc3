import { z } from "zod";
import { eventTable, promptTexts } from "../../attempts/event-table.ts";
import { terminalIdentity, time, trouble } from "./schemas.ts";

export const noteNames = ["journal-doubted", "sales-unmatched", "disk-full", "in-doubt"] as const;

/** The members of `GET /health`. */

export const health = z.object({
  status: z.enum(["Ready", "NotReady"]),
  reasons: z.array(z.string()).describe("Why no payment can be taken now."),
  obstacles: z
    .array(z.object({ code: z.string(), says: z.string(), todo: z.string() }))
    .describe("The reasons, each with the code of the refused payment and what helps."),
  warnings: z.array(z.string()).describe("The notes, and the troubles with what to do."),
  notes: z
    .array(z.object({ note: z.enum(noteNames), says: z.string(), count: z.int().nullable() }))
    .describe("Warnings that are no trouble, for programs."),
  terminal: eventTable.terminal.data.extend({ version: z.string() }),
  replaced: z
    .object({ accepted: terminalIdentity, found: terminalIdentity })
    .nullable()
    .describe("Another terminal is connected than the accepted one: who both are."),
  running: z
    .object({
      what: z.string(),
      orderId: z.string().nullable(),
      prompt: z.string().nullable().describe("The last one that the terminal showed for it."),
      promptTexts,
      goodsBy: z.iso
        .datetime()
        .nullable()
        .describe("Approved: until when the terminal waits for POST /delivery."),
    })
    .nullable(),
  payments: z.object({ inDoubt: z.int(), notHandedOver: z.int() }).nullable(),
  outbox: z
    .object({
      pending: z.int(),
      parked: z.int(),
      sent: z.int(),
      oldestAgeSeconds: z.int().nullable(),
      paused: z.string().nullable(),
      ambiguous: z
        .object({ sends: z.int(), inDoubt: z.int(), possibleCopies: z.int() })
        .nullable()
        .describe(
          "Sends whose answer was lost; items not sent again before a lookup; orders that the " +
            "gateway may have more than once.",
        ),
    })
    .nullable()
    .describe("null: the supervisor does not answer."),
  troubles: z
    .array(
      trouble.extend({
        says: z.string(),
        todo: z.string(),
        orderIds: z.array(z.string()).describe("At most 5 of the orders that it is about."),
      }),
    )
    .describe("What the warnings say of the way to the gateway, for programs."),
  alarms: z
    .array(
      eventTable.alarm.data.extend({
        id: z.int(),
        at: time,
        trouble: trouble.nullable(),
        endsWhenSeen: z.boolean().describe("POST /seen ends it; else it lasts with its cause."),
      }),
    )
    .describe("Of the last day, or as long as their trouble lasts; GET /events has all."),
  disk: z.object({ freeBytes: z.number(), freeMinBytes: z.number() }).nullable(),
  clock: z.object({ now: time, timeZone: z.string(), uptimeSeconds: z.int() }),
  versions: z.object({
    connector: z.string(),
    supervisor: z.string(),
    node: z.string(),
    os: z.string(),
  }),
  dailyChoresAt: z.string(),
  updates: z
    .object({
      asked: z.boolean(),
      channel: z.string(),
      lastCheckAt: time.nullable(),
      lastError: z.string().nullable(),
      metadataAt: time.nullable(),
      metadataExpireAt: time.nullable(),
      ready: z.string().nullable().describe("A version that waits to be taken."),
      heldBy: z.string().nullable(),
      heldSince: time.nullable(),
      heldUntil: time
        .nullable()
        .describe("When the hold ends by itself; null with a heldBy: when somebody ends it."),
    })
    .nullable()
    .describe("null: the supervisor does not tell; a checkout of the sources has no updates."),
});
