import { z } from "zod";
import { transactionSchema } from "../transaction.ts";
import { certificateFile, fleetMessages } from "./fleet-messages.ts";
import {
  deliveryStateSchema,
  gatewayOperationSchema,
  gatewayStateSchema,
  openAtGatewaySchema,
  operationsOfSupervisor,
  orderReturnedMinor,
  sendingStepSchema,
} from "./gateway-messages.ts";
import {
  conditionFigures,
  fleetConnection,
  notificationFigures,
  paymentFigures,
  reasonSince,
  terminalGrounds,
  updateFigures,
} from "./status-figures.ts";
import { storesOfSupervisor, storesOfTpManager } from "./store-messages.ts";

export * from "./gateway-messages.ts";
export * from "./store-messages.ts";

/**
 * The version in the paths of messages between the processes of one installation: HTTP POST with
 * JSON over a local socket, path `/v1/<message>` (docs/design.md 7.1). Unknown members are ignored,
 * so that a newer sender may add optional ones; any other change needs a new version.
 */
export const IPC_VERSION = 1;

export type Program = "tp-manager" | "supervisor";

const servedPage = z.object({
  name: z.string(),
  port: z.int(),
  /** Why the page cannot be served; null: it is served. */
  fault: z.string().nullable(),
});
export type ServedPage = z.infer<typeof servedPage>;

const outboxItemSchema = z.object({
  /** The number of the item: later items have larger numbers. Also the cursor of a listing. */
  sequence: z.int(),
  transactionId: z.string(),
  orderId: z.string(),
  state: deliveryStateSchema,
  amountMinor: z.int(),
  currency: z.string(),
  exponent: z.int(),
  queuedAtMs: z.int(),
  /** When the next try to send the item is due; null: the item does not wait for a try. */
  nextTryAtMs: z.int().nullable(),
  settledAtMs: z.int().nullable(),
  tries: z.int(),
  /** Whether the answer to a try was lost, so that the gateway may have the order. */
  ambiguous: z.boolean(),
  /** Why the item is parked or closed; null: it is neither of them. */
  reason: z.string().nullable(),
  lastTry: z
    .object({
      endedAtMs: z.int(),
      class: z.string(),
      httpStatus: z.int().nullable(),
      code: z.int().nullable(),
      description: z.string(),
    })
    .nullable(),
});
export type OutboxItem = z.infer<typeof outboxItemSchema>;

/** Why a request about an outbox item is refused; "running": the item is being sent. */
const outboxRefusals = ["unknown", "running", "sent", "closed"] as const;

export const OUTBOX_PAGE_MAX = 200;
export const ALARMS_PAGE_MAX = 200;
export const FLEET_REQUEST = "fleet-request";
export const NOTE_CHARACTERS_MAX = 500;
const PERSON_CHARACTERS_MAX = 500;

const gatewayHistorySchema = z.object({
  known: z.boolean(),
  state: gatewayStateSchema,
  fraudReported: z.boolean(),
  transactionPublicIds: z.array(z.string()),
  events: z.array(
    z.object({
      atMs: z.int(),
      kind: z.enum(["operation", "fraud"]),
      operation: z.string(),
      status: z.string(),
      transactionPublicId: z.string().nullable(),
      /** How many times the gateway sent this notification. */
      copies: z.int(),
      details: z.record(z.string(), z.unknown()),
    }),
  ),
  operations: z.array(gatewayOperationSchema),
  /**
   * How many transactions the gateway may have for the order, while that number is uncertain; 0: it
   * is certain. Missing: an older supervisor.
   */
  possibleOrders: z.int().min(0).optional(),
  /** Ids of operations answered as done, later notified as failed. Missing: an older supervisor. */
  failed: z.array(z.string()).optional(),
  /** The steps of sending the order to the gateway, oldest first. Missing: an older supervisor. */
  sending: z.array(sendingStepSchema).optional(),
});
export type GatewayHistory = z.infer<typeof gatewayHistorySchema>;

const empty = z.object({});

/** The person who makes a request, and the reason; missing: not given, or an older tp-manager. */
const personSchema = {
  note: z.string().max(NOTE_CHARACTERS_MAX).optional(),
  by: z.string().max(PERSON_CHARACTERS_MAX).optional(),
};

const noteSchema = z.string().min(1).max(NOTE_CHARACTERS_MAX);
const waitMsSchema = z.int().min(0).max(60_000);

const handedOff = z.object({
  transaction: transactionSchema,
  /** Whether this is the transaction's first hand-off. Missing: that is not certain. */
  isFirst: z.boolean().optional(),
});

/** Since when and why conditions of the outbox last; an older supervisor sends none of these. */
const outboxConditions = {
  oldestAtMs: z.int().nullable().optional(),
  pausedSinceMs: z.int().nullable().optional(),
  parkedSinceMs: z.int().nullable().optional(),
  /** The present fault of the gateway's certificate, address or access; null: none. */
  misconfigured: reasonSince.nullable().optional(),
  /** Why the gateway refuses our credentials for a lookup of orders; null: it does not. */
  lookupRefused: reasonSince.nullable().optional(),
};

export const supervisorMessages = {
  /**
   * Stores a transaction on the disk before answering; an id that is already stored changes
   * nothing. With `waitMs` the answer also has the state of the delivery to the gateway, for which
   * it waits as transaction-delivery does. A supervisor of an older version leaves the state out.
   */
  "store-transaction": {
    request: handedOff.extend({
      waitMs: waitMsSchema.optional(),
      /** Whether the sale was withdrawn earlier and is charged after all. */
      wasWithdrawn: z.boolean().optional(),
    }),
    response: z.object({ stored: z.literal(true), state: deliveryStateSchema.optional() }),
  },
  /**
   * Closes a transaction whose sale was reversed, or corrected to not charged. "closed": it was
   * never sent to the gateway and never will be. "sent": the gateway has or may have it, so an
   * alarm was raised. Repeating the message is harmless.
   */
  "withdraw-transaction": {
    request: handedOff,
    response: z.object({ outcome: z.enum(["closed", "sent"]) }),
  },
  /** Waits at most `waitMs` until the transaction is not "pending" or its first try has ended. */
  "transaction-delivery": {
    request: z.object({ transactionId: z.uuid(), waitMs: waitMsSchema }),
    response: z.object({
      known: z.boolean(),
      state: deliveryStateSchema.nullable(),
      /** Whether the gateway has it: `notificationGatewaySent` of the kiosk's answer. */
      sent: z.boolean(),
    }),
  },
  ...storesOfSupervisor,
  /** Lists the items of the outbox after the item number `cursor`, oldest first. */
  "outbox-list": {
    request: z.object({
      state: deliveryStateSchema.optional(),
      cursor: z.int().min(0).optional(),
      limit: z.int().min(1).max(OUTBOX_PAGE_MAX),
    }),
    response: z.object({ items: z.array(outboxItemSchema), more: z.boolean() }),
  },
  /**
   * Makes an item of the outbox due for sending now, even a parked or dropped item, and ends a
   * pause of the queue. The next refusal of the credentials by the gateway pauses it again.
   */
  "outbox-requeue": {
    request: z.object({ transactionId: z.string(), ...personSchema }),
    response: z.object({ outcome: z.enum(["queued", ...outboxRefusals]) }),
  },
  /** Closes an item with an operator's reason, so that it is not sent. Repeating is harmless. */
  "outbox-drop": {
    request: z.object({ transactionId: z.string(), ...personSchema, note: noteSchema }),
    response: z.object({ outcome: z.enum(["dropped", ...outboxRefusals]) }),
  },
  ...operationsOfSupervisor,
  /** Records an operator's finding: whether an operation without a known outcome was done. */
  "gateway-settle": {
    request: z.object({
      transactionPublicId: z.string(),
      happened: z.boolean(),
      note: noteSchema,
    }),
    response: z.object({ operation: gatewayOperationSchema.nullable() }),
  },
  /**
   * Records that an operator found no transactions of an order at the gateway except those that it
   * has named here. `settled` is false if no duplicate is possible or the order may still be sent.
   */
  "gateway-copies": {
    request: z.object({ orderId: z.string(), note: noteSchema }),
    response: z.object({
      settled: z.boolean(),
      transactionId: z.string().nullable(),
      transactionPublicIds: z.array(z.string()),
      orderReturnedMinor,
    }),
  },
  /** Lists operations without an answer and possible duplicates, at most `limit` of each kind. */
  "gateway-open": {
    request: z.object({ limit: z.int().min(1).max(OUTBOX_PAGE_MAX) }),
    response: openAtGatewaySchema,
  },
  /** Looks up a transaction at the gateway (API v3), and stores what the answer proves. */
  "gateway-lookup": {
    request: z.object({ id: z.string() }),
    response: z.object({
      outcome: z.enum(["found", "not-found", "failed"]),
      description: z.string(),
      transaction: z.record(z.string(), z.unknown()).nullable(),
    }),
  },
  /**
   * Lists money that was paid back at the gateway according to its notifications, whichever system
   * requested it: the transactions with a notification after `after`, each with its total sum.
   * `last` is the next `after`; it becomes smaller only if the database is another one.
   */
  "gateway-returns": {
    request: z.object({ after: z.int().min(0), limit: z.int().min(1).max(OUTBOX_PAGE_MAX) }),
    response: z.object({
      returns: z.array(z.object({ transactionId: z.string(), returnedMinor: z.int().positive() })),
      /** Transactions that were paid back although a duplicate may still be charged. */
      uncertain: z.array(z.string()).optional(),
      last: z.int().min(0),
      more: z.boolean(),
    }),
  },
  /** Reads the gateway's notifications about an order, and the operations requested for it. */
  "gateway-history": {
    request: z.object({ orderId: z.string() }),
    response: gatewayHistorySchema,
  },
  /**
   * Lists the alarms after the id `after`, oldest first, and with them the requests that came from
   * the fleet's broker, under the name {@link FLEET_REQUEST}. `origin` names the database that the
   * id is of: a sender that names another database gets all alarms.
   */
  alarms: {
    request: z.object({
      origin: z.string().optional(),
      after: z.int().min(0),
      limit: z.int().min(1).max(ALARMS_PAGE_MAX),
    }),
    response: z.object({
      origin: z.string(),
      alarms: z.array(
        z.object({
          id: z.int(),
          atMs: z.int(),
          alarm: z.string(),
          message: z.string(),
          orderId: z.string().nullable(),
          transactionId: z.string().nullable(),
          /** The id of the alarm's operation or transaction. Missing: an older supervisor. */
          about: z.string().nullable().optional(),
        }),
      ),
    }),
  },
  status: {
    request: empty,
    response: z.object({
      program: z.literal("supervisor"),
      version: z.string(),
      pid: z.int(),
      uptimeMs: z.number(),
      outbox: z.object({
        pending: z.int(),
        parked: z.int(),
        sent: z.int(),
        /** Age of the oldest pending item in milliseconds; null when none is pending. */
        oldestAgeMs: z.number().nullable(),
        /** Why the queue sends nothing, as a text for an operator; null: it is not paused. */
        paused: z.string().nullable(),
        ...outboxConditions,
        /** Figures of tries to send whose answer was lost. Missing: an older supervisor. */
        ambiguous: z
          .object({
            sends: z.int(),
            /** The number of items that need a lookup at the gateway before they are sent again. */
            inDoubt: z.int(),
            /** The number of orders that the gateway may have more than once. */
            possibleCopies: z.int(),
          })
          .optional(),
      }),
      /** How many confirms, cancels and refunds lost their answer and are not settled yet. */
      operations: z.object({ unknown: z.int(), unknownSinceMs: z.int().nullable() }).optional(),
      notifications: notificationFigures.optional(),
      /** The state of updates. Missing: an older supervisor, or a program run from its sources. */
      updates: updateFigures.optional(),
      /** Which certificate expires soon or has expired. Missing: an older supervisor. */
      certificates: reasonSince.nullable().optional(),
      /** Missing: an older supervisor, or no FLEET_URL. */
      fleet: fleetConnection.optional(),
      /** Why changed certificate files of the fleet are not used. Missing: an older supervisor. */
      fleetFiles: reasonSince.nullable().optional(),
      certificateFiles: z.array(certificateFile).optional(),
      /** By how much our clock is ahead of the gateway's; null: not known. */
      clockAheadSeconds: z.int().nullable().optional(),
      /** Why the supervisor's database cannot be written. Missing: an older supervisor. */
      unwritable: reasonSince.nullable().optional(),
    }),
  },
  stop: { request: empty, response: z.object({ stopping: z.literal(true) }) },
} as const;

export const tpManagerMessages = {
  status: {
    request: empty,
    response: z.object({
      program: z.literal("tp-manager"),
      version: z.string(),
      pid: z.int(),
      uptimeMs: z.number(),
      port: z.int(),
      /** The pages that the setup file requests, each on a port of its own. */
      pages: z.array(servedPage).optional(),
      terminal: z.object({
        link: z.string(),
        problem: z.string().nullable(),
        terminalId: z.string(),
        /** The terminal's state for people: ready, busy, or what is wrong. */
        status: z.string(),
        /** Since when the terminal is in this state, in epoch ms; a lost link: since its loss. */
        sinceMs: z.number().optional(),
        /** Whether the terminal returns another register number than the one that it was sent. */
        otherRegister: z.boolean().optional(),
        ...terminalGrounds,
      }),
      payments: z.object({
        ...paymentFigures,
        /** Whether the terminal is being probed, or will be, about payments in doubt. */
        asking: z.boolean().optional(),
        /** Until about when, epoch ms; null: the terminal is away or busy; missing: not asked. */
        askedUntilMs: z.number().nullable().optional(),
      }),
      ...conditionFigures.shape,
    }),
  },
  ...storesOfTpManager,
  ...fleetMessages,
  stop: { request: empty, response: z.object({ stopping: z.literal(true) }) },
} as const;

export type Messages = Readonly<
  Record<string, { readonly request: z.ZodType; readonly response: z.ZodType }>
>;
export type RequestOf<M extends Messages, K extends keyof M> = z.infer<M[K]["request"]>;
export type ResponseOf<M extends Messages, K extends keyof M> = z.infer<M[K]["response"]>;
export type SupervisorRequest<K extends keyof ToSupervisor> = RequestOf<ToSupervisor, K>;
export type SupervisorAnswer<K extends keyof ToSupervisor> = ResponseOf<ToSupervisor, K>;
type ToSupervisor = typeof supervisorMessages;
export type Handlers<M extends Messages> = {
  readonly [K in keyof M]: (
    request: RequestOf<M, K>,
  ) => ResponseOf<M, K> | Promise<ResponseOf<M, K>>;
};

/** The report of the journal's audit, as the program in src/tp-manager/audit prints it. */
export interface JournalAudit<Rule extends string = string> {
  readonly attempts: number;
  readonly steps: number;
  readonly archived: number;
  /** The number of faults against each rule. */
  readonly counts: Readonly<Record<Rule, number>>;
  /** The first faults; at most 1 000 of each part of the journal. */
  readonly faults: readonly {
    readonly rule: Rule;
    readonly orderId: string;
    readonly transactionId: string;
    readonly says: string;
  }[];
  /** The number of attempts with steps that only a newer version knows, by the kind of step. */
  readonly unknown: Readonly<Record<string, number>>;
}
