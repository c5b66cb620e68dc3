import { z } from "zod";
import { transactionSchema } from "../transaction.ts";
import { deliveryStateSchema, gatewayOperationSchema } from "./gateway-messages.ts";

/** A charged order of the supervisor that a lost journal imports (docs/rules/34-journal-gap.md). */
const knownOrderSchema = z.object({
  transaction: transactionSchema,
  state: deliveryStateSchema,
  /** Whether the sale was reversed at the terminal. */
  reversed: z.boolean(),
  /** The sum that was certainly paid back at the gateway, in minor units. */
  returnedMinor: z.int().min(0),
  /** A cancel or refund of the order with an unknown outcome; null: there is none. */
  openReturn: gatewayOperationSchema.nullable(),
});
export type KnownOrder = z.infer<typeof knownOrderSchema>;

/** A transaction that the journal hands off again to a supervisor whose database was lost. */
const resyncItemSchema = z.object({
  transaction: transactionSchema,
  state: deliveryStateSchema,
  reversed: z.boolean(),
  /** Whether the sale was withdrawn earlier and is charged after all. */
  wasWithdrawn: z.boolean().optional(),
});
export type ResyncItem = z.infer<typeof resyncItemSchema>;

/** The largest number of transactions in one message, which keeps messages small. */
export const STORE_PAGE_MAX = 10;

export const storesOfSupervisor = {
  /**
   * Lists the charged orders in supervisor.db, all or those with one order id. `whole`: the
   * database has every transaction that was ever handed off; false after a loss.
   */
  "known-orders": {
    request: z.object({
      orderId: z.string().optional(),
      after: z.int().min(0),
      limit: z.int().min(1).max(STORE_PAGE_MAX),
    }),
    response: z.object({
      orders: z.array(knownOrderSchema),
      /** The value of `after` in the request for the next page. */
      last: z.int().min(0),
      more: z.boolean(),
      whole: z.boolean(),
    }),
  },
  /** Finds whether the gateway has an order that neither program's database knows. */
  "order-at-gateway": {
    request: z.object({ orderId: z.string() }),
    response: z.object({ found: z.enum(["absent", "present", "untold"]), why: z.string() }),
  },
  /**
   * Stores transactions again after supervisor.db was lost or restored. Repeating the message is
   * harmless. `last`: the journal has no gap and has handed off all its transactions.
   */
  "take-over": {
    request: z.object({
      items: z.array(resyncItemSchema).max(STORE_PAGE_MAX),
      last: z.boolean(),
    }),
    response: z.object({ added: z.int().min(0) }),
  },
} as const;

export const storesOfTpManager = {
  /** Reads the journal gap, or closes it if an operator requests that; `doubt` null: no gap. */
  stores: {
    request: z.object({ accept: z.boolean() }),
    response: z.object({
      doubt: z
        .object({
          sinceMs: z.int(),
          because: z.string(),
          takenOver: z.boolean(),
          /** Descriptions of the terminal's sales that belong to no order. */
          ofNoOrder: z.array(z.string()),
        })
        .nullable(),
      /** Whether a resync with the supervisor is under way. */
      handingAgain: z.boolean(),
      ended: z.boolean(),
    }),
  },
} as const;
