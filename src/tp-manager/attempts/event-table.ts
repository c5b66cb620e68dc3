import { z } from "zod";
import { alarmFindings } from "../../shared/catalog/alarm-log.ts";
import { deliveryStateSchema } from "../../shared/ipc/contract.ts";

export const promptTexts = z
  .object({ en: z.string(), fr: z.string(), de: z.string() })
  .nullable()
  .describe("What the prompt's code says in each language; null: it says nothing.");

/**
 * The events of `GET /events` with their members, and whether they are stored. A stored event has
 * an id and is repeated after a `Last-Event-ID`. The others describe the present only, so that no
 * program acts on yesterday's prompt.
 */
export const eventTable = {
  payment: {
    kept: true,
    meaning: "A payment has begun or changed its state.",
    data: z.object({
      orderId: z.string(),
      transactionId: z.string(),
      attempt: z.int().describe("Counts the attempts of the order from 1."),
      state: z
        .enum([
          "running",
          "approved",
          "charged",
          "declined",
          "cancelled",
          "failed",
          "in-doubt",
          "reversing",
          "reversal-in-doubt",
          "reversed",
        ])
        .describe("approved: the goods are not confirmed yet. in-doubt: the terminal is asked."),
      charged: z.enum(["no", "yes", "unknown"]),
      error: z.string().nullable().describe("A code of the error table."),
      amountMinor: z.int().describe("As it was asked for, in minor units: 999 is 9.99 EUR."),
      chargedAmountMinor: z
        .int()
        .nullable()
        .optional()
        .describe("null while it is not known; absent in events of older versions."),
      currency: z.string(),
    }),
  },
  delivery: {
    kept: true,
    meaning: "What the gateway has of a charged payment has changed.",
    data: z.object({
      orderId: z.string(),
      transactionId: z.string(),
      delivery: deliveryStateSchema,
      notificationGatewaySent: z.boolean(),
    }),
  },
  "end-of-day": {
    kept: true,
    meaning: "An end of day has ended, asked for by /tlc or demanded by the terminal.",
    data: z.object({
      askedBy: z.enum(["operator", "terminal"]),
      end: z.enum(["completed", "refused", "open-pre-authorisations", "failed", "lost"]),
      text: z.string().describe("The terminal's own words when it was not completed."),
      applications: z.array(
        z.object({
          name: z.string(),
          status: z.string(),
          count: z.int(),
          sumMinor: z.int(),
        }),
      ),
    }),
  },
  reconciliation: {
    kept: true,
    meaning: "An end of day, or a missing receipt number, was compared with the journal.",
    data: z.object({
      id: z.int().describe("In GET /reconciliation."),
      kind: z.enum(["end-of-day", "receipt-jump"]),
      result: z.enum(["agrees", "differs", "not-comparable", "jump", "refuted"]),
      differenceMinor: z.int().nullable().describe("What the terminal has more, in minor units."),
      currency: z.string().nullable(),
      orderIds: z.array(z.string()).describe("The orders it could be."),
    }),
  },
  alarm: {
    kept: true,
    meaning: "An operator has to look; the same is in the log.",
    data: z.object({
      alarm: z.string().describe("A stable name such as payment-unknown."),
      formerly: z
        .string()
        .optional()
        .describe("The name of this alarm before it was renamed; absent in all others."),
      finding: z
        .enum(alarmFindings)
        .optional()
        .describe(
          "Of an unmatched transaction: held, the terminal has it stored; unclear, it is not " +
            "known; absent, the terminal is being asked, or it says itself that it failed.",
        ),
      message: z.string(),
      orderId: z.string().nullable().describe("The first order that it names."),
      orders: z
        .array(z.string())
        .optional()
        .describe("All orders that an unmatched transaction can be of, or nearly."),
      transactionId: z.string().nullable().describe("Of the order that `orderId` names."),
      source: z
        .enum(["tp-manager", "supervisor"])
        .optional()
        .describe("Which program raised it; absent in those of older versions."),
    }),
  },
  "fleet-request": {
    kept: true,
    meaning: "The fleet asked for something, and it was taken (docs/fleet.md 6.1).",
    data: z.object({
      message: z.string().describe("What it asked for."),
      request: z.string().nullable().describe("The id of the request."),
    }),
  },
  prompt: {
    kept: false,
    meaning: "What the terminal shows the customer while a payment runs.",
    data: z.object({
      orderId: z.string(),
      transactionId: z.string(),
      code: z.string().describe("The protocol's code."),
      text: z.string(),
      language: z.string().describe('ISO 639-1; "" when the text came from the terminal.'),
      texts: promptTexts,
    }),
  },
  terminal: {
    kept: false,
    meaning: "The terminal's link or readiness; sent at the start of a stream and at each change.",
    data: z.object({
      link: z.enum(["disconnected", "connecting", "registering", "connected"]),
      problem: z.string().nullable(),
      state: z.enum(["ready", "busy", "action-needed", "no-link", "not-known"]),
      detail: z.string().describe("The terminal's own words."),
      since: z.iso.datetime().describe("Since when it is so."),
      terminalId: z.string(),
      serialNumber: z.string(),
    }),
  },
  gap: {
    kept: false,
    meaning: "Events between these ids are no longer kept; read GET /payments.",
    data: z.object({ afterId: z.int(), beforeId: z.int() }),
  },
} as const satisfies Record<
  string,
  { readonly kept: boolean; readonly meaning: string; readonly data: z.ZodType }
>;

/** The alarm about an order that recovery could not settle. It ends when the order is settled. */
export const PAYMENT_UNKNOWN = "payment-unknown";

export type EventName = keyof typeof eventTable;
export type EventData<N extends EventName> = z.infer<(typeof eventTable)[N]["data"]>;

export type KeptName = {
  [N in EventName]: (typeof eventTable)[N]["kept"] extends true ? N : never;
}[EventName];
type PassingName = Exclude<EventName, KeptName>;

/** An event that is stored in the journal. */
export type KeptEvent = {
  [N in KeptName]: {
    readonly id: number;
    readonly atMs: number;
    readonly name: N;
    readonly data: EventData<N>;
  };
}[KeptName];

/** An event that goes to the clients connected now and is not stored. */
export type PassingEvent = {
  [N in PassingName]: { readonly name: N; readonly data: EventData<N> };
}[PassingName];

/** Passes an event to the connected clients. Never throws, so that no payment depends on it. */
export type Announce = (event: PassingEvent) => void;
