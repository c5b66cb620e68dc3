import { z } from "zod";
import { transactionSchema } from "../transaction.ts";
import { deliveryStateSchema, gatewayOperationSchema } from "./gateway-messages.ts";

/** A charged order that is given to a journal that was lost or restored (docs/rules/17-loss.md). */
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

/** A transaction that the journal hands off again to a supervisor whose database was lost. */
const resyncItemSchema = z.object({
  transaction: transactionSchema,
  state: deliveryStateSchema,
  reversed: z.boolean(),
});
export type ResyncItem = z.infer<typeof resyncItemSchema>;

/** The most transactions of one message, so that the message is never too large. */
export const STORE_PAGE_MAX = 10;

/** The messages about lost databases that the supervisor answers. */
export const storesOfSupervisor = {
  /**
   * Lists the charged orders of this database, all or those of one order id. `whole`: this database
   * has every transaction that was ever handed off; false after a loss of this database.
   */
  "known-orders": {
    request: z.object({
      orderId: z.string().optional(),
      after: z.int().min(0),
      limit: z.int().min(1).max(STORE_PAGE_MAX),
    }),
    response: z.object({
      orders: z.array(knownOrderSchema),
      /** The `after` of the next page. */
      last: z.int().min(0),
      more: z.boolean(),
      whole: z.boolean(),
    }),
  },
  /** Finds whether the gateway has an order with this id, when no database here knows it. */
  "order-at-gateway": {
    request: z.object({ orderId: z.string() }),
    response: z.object({ found: z.enum(["absent", "present", "untold"]), why: z.string() }),
  },
  /**
   * Stores transactions again after this database was lost or restored. Repeating the message is
   * harmless. `last`: the journal has no gap and has handed off everything.
   */
  "take-over": {
    request: z.object({
      items: z.array(resyncItemSchema).max(STORE_PAGE_MAX),
      last: z.boolean(),
    }),
    response: z.object({ added: z.int().min(0) }),
  },
} as const;

/** The messages about lost databases that tp-manager answers. */
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
          /** The terminal's sales that belong to no order, in words. */
          ofNoOrder: z.array(z.string()),
        })
        .nullable(),
      /** A resync with the supervisor is under way. */
      handingAgain: z.boolean(),
      ended: z.boolean(),
    }),
  },
} as const;
