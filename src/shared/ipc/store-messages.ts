import { z } from "zod";
import { transactionSchema } from "../transaction.ts";
import { deliveryStateSchema, gatewayOperationSchema } from "./gateway-words.ts";

/** A charged order, for a journal that was lost or restored (docs/rules/17-loss.md). */
const knownOrderSchema = z.object({
  transaction: transactionSchema,
  state: deliveryStateSchema,
  /** The sale was reversed at the terminal. */
  reversed: z.boolean(),
  /** Went back at the gateway for certain, in all. */
  returnedMinor: z.int().min(0),
  /** A cancel or refund whose end is not known. */
  openReturn: gatewayOperationSchema.nullable(),
});
export type KnownOrder = z.infer<typeof knownOrderSchema>;

/** A transaction that the journal had handed over, for a supervisor whose database was lost. */
const handedAgainSchema = z.object({
  transaction: transactionSchema,
  state: deliveryStateSchema,
  reversed: z.boolean(),
});
export type HandedAgain = z.infer<typeof handedAgainSchema>;

/** So many transactions fit one message, whatever they hold. */
export const STORE_PAGE_MAX = 10;

/** Answered by the supervisor. */
export const storesOfSupervisor = {
  /**
   * The charged orders of this database, all of them or those of one order id. `whole`: every
   * transaction that was ever handed over is here; after a loss of this database it may not be.
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
  /** Whether the gateway has an order of this number, where no database here may know. */
  "order-at-gateway": {
    request: z.object({ orderId: z.string() }),
    response: z.object({ found: z.enum(["absent", "present", "untold"]), why: z.string() }),
  },
  /**
   * Takes transactions over again after this database was lost or restored. Repeating the message
   * is harmless. `last`: a journal that lacks nothing has handed over all it has.
   */
  "take-over": {
    request: z.object({
      items: z.array(handedAgainSchema).max(STORE_PAGE_MAX),
      last: z.boolean(),
    }),
    response: z.object({ added: z.int().min(0) }),
  },
} as const;

/** Answered by tp-manager. */
export const storesOfTpManager = {
  /** The doubt about the stores: told, or ended by an operator's word. null: there is none. */
  stores: {
    request: z.object({ accept: z.boolean() }),
    response: z.object({
      doubt: z
        .object({
          sinceMs: z.int(),
          because: z.string(),
          takenOver: z.boolean(),
          /** Sales of the terminal that no order has, in words. */
          ofNoOrder: z.array(z.string()),
        })
        .nullable(),
      /** Transactions are being handed over again to the supervisor. */
      handingAgain: z.boolean(),
      ended: z.boolean(),
    }),
  },
} as const;
