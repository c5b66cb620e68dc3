import { z } from "zod";
import { transactionSchema } from "../transaction.ts";

/**
 * Every message between the processes of one installation (DESIGN 7): HTTP POST with JSON over a
 * local socket, path `/v1/<message>`. Objects are read tolerantly, so that a newer sender may add
 * optional fields; anything else needs a new version in the path.
 */
export const IPC_VERSION = 1;

export const programs = ["tp-manager", "supervisor"] as const;
export type Program = (typeof programs)[number];

/** What became of a transaction at the gateway. */
export const deliveryStateSchema = z.enum([
  /** Waiting for its first or next try. */
  "pending",
  /** The gateway answered code 0. */
  "sent",
  /** Refused by the gateway; waits for an operator. */
  "parked",
  /** Closed without being sent. */
  "closed",
]);
export type DeliveryState = z.infer<typeof deliveryStateSchema>;

const deliverySchema = z.object({
  known: z.boolean(),
  state: deliveryStateSchema.nullable(),
  /** The gateway has it: `notificationGatewaySent`. */
  sent: z.boolean(),
});

const empty = z.object({});

/** Messages the supervisor answers. */
export const supervisorMessages = {
  /** Stores a transaction durably before answering; the same id again changes nothing. */
  "store-transaction": {
    request: z.object({ transaction: transactionSchema }),
    response: z.object({ stored: z.literal(true) }),
  },
  /**
   * The sale was reversed at the terminal. "closed": it was never sent to the gateway and never
   * will be. "sent": the gateway has it or may have it, which raised an alarm. Again is harmless.
   */
  "withdraw-transaction": {
    request: z.object({ transaction: transactionSchema }),
    response: z.object({ outcome: z.enum(["closed", "sent"]) }),
  },
  /** Waits at most `waitMs` until the transaction has left "pending" or its first try has ended. */
  "transaction-delivery": {
    request: z.object({ transactionId: z.uuid(), waitMs: z.int().min(0).max(60_000) }),
    response: deliverySchema,
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
        /** Why nothing is being sent, in words for an operator; null when it is not paused. */
        paused: z.string().nullable(),
      }),
    }),
  },
  stop: { request: empty, response: z.object({ stopping: z.literal(true) }) },
} as const;

/** Messages tp-manager answers. */
export const tpManagerMessages = {
  status: {
    request: empty,
    response: z.object({
      program: z.literal("tp-manager"),
      version: z.string(),
      pid: z.int(),
      uptimeMs: z.number(),
      port: z.int(),
      terminal: z.object({
        link: z.string(),
        problem: z.string().nullable(),
        terminalId: z.string(),
        /** For people: ready, busy, what is wrong. */
        status: z.string(),
      }),
      payments: z.object({ running: z.int(), inDoubt: z.int(), notHandedOver: z.int() }),
    }),
  },
  stop: { request: empty, response: z.object({ stopping: z.literal(true) }) },
} as const;

export type Messages = Readonly<
  Record<string, { readonly request: z.ZodType; readonly response: z.ZodType }>
>;
export type RequestOf<M extends Messages, K extends keyof M> = z.infer<M[K]["request"]>;
export type ResponseOf<M extends Messages, K extends keyof M> = z.infer<M[K]["response"]>;
/** One handler per message; nothing else is answered. */
export type Handlers<M extends Messages> = {
  readonly [K in keyof M]: (
    request: RequestOf<M, K>,
  ) => ResponseOf<M, K> | Promise<ResponseOf<M, K>>;
};
