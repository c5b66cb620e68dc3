import { z } from "zod";
import { transactionSchema } from "../transaction.ts";
import { deliveryStateSchema, gatewayOperationSchema } from "./gateway-messages.ts";

/** A charged order, for a journal that was lost or restored (docs/rules/17-loss.md). */
const knownOrderSchema = z.object({
  transaction: transactionSchema,
  state: deliveryStateSchema,
  /** The sale was reversed at the terminal. */
  reversed: z.boolean(),
  /** The sum that went back at the gateway for certain. */
  returnedMinor: z.int().min(0),
  /** A cancel or refund whose end is not known. */
  openReturn: gatewayOperationSchema.nullable(),
});
export type KnownOrder = z.infer<typeof knownOrderSchema>;

/** A transaction that the journal had handed off, for a supervisor whose database was lost. */
const resyncItemSchema = z.object({
  transaction: transactionSchema,
  state: deliveryStateSchema,
  reversed: z.boolean(),
});
export type ResyncItem = z.infer<typeof resyncItemSchema>;

/** The transactions of one message, which so are never too large for it. */
export const STORE_PAGE_MAX = 10;

/** Answered by the supervisor. */
export const storesOfSupervisor = {
  /**
   * The charged orders of this database, all of them or those of one order id. `whole`: every
   * transaction that was ever handed off is here; false after a loss of this database.
   */
  "known-orders": {
    request: z.object({
      orderId: z.string().optional(),
      after: z.int().min(0),
      limit: z.int().min(1).max(STORE_PAGE_MAX),
    }),
    response: z.object({
      orders: z.array(knownOrderSchema),
      /** The next `after`. */
      last: z.int().min(0),
      more: z.boolean(),
      whole: z.boolean(),
    }),
  },
  /** Whether the gateway has an order of this number, when no database here knows. */
  "order-at-gateway": {
    request: z.object({ orderId: z.string() }),
    response: z.object({ found: z.enum(["absent", "present", "untold"]), why: z.string() }),
  },
  /**
   * Stores transactions once more after this database was lost or restored. Repeating the message
   * is harmless. `last`: a journal without a gap has handed off all it has.
   */
  "take-over": {
    request: z.object({
      items: z.array(resyncItemSchema).max(STORE_PAGE_MAX),
      last: z.boolean(),
    }),
    response: z.object({ added: z.int().min(0) }),
  },
} as const;

/** Answered by tp-manager. */
export const storesOfTpManager = {
  /** Reads the journal gap, or closes it on an operator's request. null: there is no gap. */
  stores: {
    request: z.object({ accept: z.boolean() }),
    response: z.object({
      doubt: z
        .object({
          sinceMs: z.int(),
          because: z.string(),
          takenOver: z.boolean(),
          /** Sales of the terminal that no order has, as texts. */
          ofNoOrder: z.array(z.string()),
        })
        .nullable(),
      /** A resync with the supervisor is under way. */
      handingAgain: z.boolean(),
      ended: z.boolean(),
    }),
  },
} as const;
