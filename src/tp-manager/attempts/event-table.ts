import { z } from "zod";
import { alarmFindings } from "../../shared/catalog/alarm-log.ts";
import { deliveryStateSchema } from "../../shared/ipc/contract.ts";

const text = z.string();
export const promptTexts = z
  .object({ en: text, fr: text, de: text, it: text, es: text })
  .nullable();

/**
 * The events of `GET /events` that are stored, with their members. Each event has an id and is
 * repeated after a `Last-Event-ID`. openapi/document-en.json describes events and members.
 */
const keptEvents = {
  payment: z.object({
    orderId: z.string(),
    transactionId: z.string(),
    attempt: z.int(),
    state: z.enum([
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
    ]),
    charged: z.enum(["no", "yes", "unknown"]),
    error: z.string().nullable(),
    amountMinor: z.int(),
    chargedAmountMinor: z.int().nullable().optional(),
    currency: z.string(),
    endsAt: z.iso.datetime().nullable().optional(),
    secondsLeft: z.int().nullable().optional(),
  }),
  delivery: z.object({
    orderId: z.string(),
    transactionId: z.string(),
    delivery: deliveryStateSchema,
    notificationGatewaySent: z.boolean(),
  }),
  "end-of-day": z.object({
    askedBy: z.enum(["operator", "terminal"]),
    end: z.enum(["completed", "refused", "open-pre-authorisations", "failed", "lost"]),
    text: z.string(),
    applications: z.array(
      z.object({ name: z.string(), status: z.string(), count: z.int(), sumMinor: z.int() }),
    ),
  }),
  reconciliation: z.object({
    id: z.int(),
    kind: z.enum(["end-of-day", "receipt-jump"]),
    result: z.enum(["agrees", "differs", "not-comparable", "jump", "refuted"]),
    differenceMinor: z.int().nullable(),
    currency: z.string().nullable(),
    orderIds: z.array(z.string()),
  }),
  alarm: z.object({
    alarm: z.string(),
    formerly: z.string().optional(),
    finding: z.enum(alarmFindings).optional(),
    message: z.string(),
    orderId: z.string().nullable(),
    orders: z.array(z.string()).optional(),
    transactionId: z.string().nullable(),
    source: z.enum(["tp-manager", "supervisor"]).optional(),
  }),
  "fleet-request": z.object({ message: z.string(), request: z.string().nullable() }),
};

/** The events of `GET /events` that are not stored, because a repeated old prompt would mislead. */
const passingEvents = {
  prompt: z.object({
    orderId: z.string(),
    transactionId: z.string(),
    code: z.string(),
    text: z.string(),
    language: z.string(),
    texts: promptTexts,
  }),
  "time-warning": z.object({
    orderId: z.string(),
    transactionId: z.string(),
    endsAt: z.iso.datetime(),
    secondsLeft: z.int(),
  }),
  terminal: z.object({
    link: z.enum(["disconnected", "connecting", "registering", "connected"]),
    problem: z.string().nullable(),
    state: z.enum(["ready", "busy", "action-needed", "no-link", "not-known"]),
    detail: z.string(),
    since: z.iso.datetime(),
    terminalId: z.string(),
    serialNumber: z.string(),
  }),
  gap: z.object({ afterId: z.int(), beforeId: z.int() }),
};

export const eventTable = { ...keptEvents, ...passingEvents };

export const isKept = (name: string): boolean => name in keptEvents;

type EventTable = typeof eventTable;
export type EventData<N extends keyof EventTable> = z.infer<EventTable[N]>;
export type KeptName = keyof typeof keptEvents;

export type KeptEvent = {
  [N in KeptName]: {
    readonly id: number;
    readonly atMs: number;
    readonly name: N;
    readonly data: EventData<N>;
  };
}[KeptName];

export type PassingEvent = {
  [N in keyof typeof passingEvents]: { readonly name: N; readonly data: EventData<N> };
}[keyof typeof passingEvents];

/** Passes an event to the connected clients. Never throws, so that no payment depends on it. */
export type Announce = (event: PassingEvent) => void;
