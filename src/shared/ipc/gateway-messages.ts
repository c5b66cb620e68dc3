import { z } from "zod";

/**
 * The state of a transaction's delivery to the gateway. "pending": it waits for its first or next
 * try. "sent": the gateway has it. "parked": the gateway refuses it, or it cannot be sent, so it
 * waits for an operator. "closed": it will not be sent.
 */
export const deliveryStateSchema = z.enum(["pending", "sent", "parked", "closed"]);
export type DeliveryState = z.infer<typeof deliveryStateSchema>;

export const gatewayOperationKindSchema = z.enum(["confirm", "cancel", "refund"]);
export type GatewayOperationKind = z.infer<typeof gatewayOperationKindSchema>;

/** A confirm, cancel or refund, which is sent at most once, and its outcome. */
export const gatewayOperationSchema = z.object({
  operationId: z.string(),
  kind: gatewayOperationKindSchema,
  transactionPublicId: z.string(),
  /** The amount of the operation in minor units; null: the whole amount. */
  amountMinor: z.int().nullable(),
  /**
   * "done" and "refused": as the gateway answered. "not-sent": the operation was not carried out.
   * "unknown": the answer was lost; a notification, a lookup or an operator settles the operation.
   */
  state: z.enum(["sending", "done", "refused", "not-sent", "unknown"]),
  code: z.int().nullable(),
  description: z.string(),
  /** How the operation ended, as a row of the supervisor's fault table; null: not yet. */
  class: z.string().nullable(),
  askedAtMs: z.int(),
  endedAtMs: z.int().nullable(),
});
export type GatewayOperation = z.infer<typeof gatewayOperationSchema>;

export const openAtGatewaySchema = z.object({
  /** Operations whose answer was lost, so that an operator has to find out if they were done. */
  operations: z.array(
    gatewayOperationSchema.extend({
      /** The id of the order; null: the order is not of this installation. */
      orderId: z.string().nullable(),
      currency: z.string(),
      exponent: z.int(),
    }),
  ),
  /** Orders that the gateway may have more than once. */
  copies: z.array(
    z.object({
      orderId: z.string(),
      transactionId: z.string(),
      amountMinor: z.int(),
      currency: z.string(),
      exponent: z.int(),
      possibleOrders: z.int().min(2),
      transactionPublicIds: z.array(z.string()),
      /** Whether the order may still be sent, so that no operator can settle anything yet. */
      mayBeSent: z.boolean(),
    }),
  ),
  more: z.boolean(),
});
export type OpenAtGateway = z.infer<typeof openAtGatewaySchema>;

/** One step of an order on its way from the hand-off to the gateway. */
export const sendingStepSchema = z.object({
  atMs: z.int(),
  /**
   * "queued": handed off. "try": a try has ended. "parked", "closed", "sent": sending has ended
   * without an answer to a try. "requeue", "drop": an operator's decision.
   */
  step: z.enum(["queued", "try", "parked", "closed", "sent", "requeue", "drop"]),
  /** The number of the try to send the order, from 1; null: the step is no try. */
  number: z.int().nullable(),
  /** The outcome of a try; "not-known": it may have arrived; null: the step is no try. */
  outcome: z.enum(["taken", "not-taken", "not-sent", "not-known"]).nullable(),
  /** How a try to send the order ended, as a row of the supervisor's fault table. */
  class: z.string().nullable(),
  /** A text for people: the gateway's answer, the reason for the end, or an operator's note. */
  description: z.string(),
  /** The operator who decided this step; null: not known, or not decided by an operator. */
  by: z.string().nullable(),
});
export type SendingStep = z.infer<typeof sendingStepSchema>;
export const sendingStepFields = sendingStepSchema.shape;

/**
 * The state of an order at the gateway, according to its notifications. Of several notified states
 * the one that is last in this list counts, in whatever sequence the notifications came.
 */
export const gatewayStateSchema = z.enum([
  "unknown",
  "waiting",
  "declined",
  "aborted",
  "authorized",
  "captured",
  "partly-refunded",
  "refunded",
  "cancelled",
  "reversed",
]);
export type GatewayState = z.infer<typeof gatewayStateSchema>;

const gatewayTransactionSchema = z.object({
  found: z.literal(true),
  transactionPublicId: z.string(),
  /** The id of the order; null: the order is not of this installation. */
  orderId: z.string().nullable(),
  transactionId: z.string().nullable(),
  currency: z.string(),
  exponent: z.int(),
  /** The sum of this transaction that was paid back, in minor units; missing: not known. */
  returnedMinor: z.int().min(0).optional(),
  /** The minor units that can still be refunded. Missing: unknown, 0, or an older supervisor. */
  leftMinor: z.int().positive().optional(),
  /** Whether the supervisor keeps idempotency keys and refunds. Missing: an older supervisor. */
  remembers: z.literal(true).optional(),
});

/** The ids by which a caller can name one transaction of the gateway. */
const gatewayTarget = z.union([
  z.object({ orderId: z.string() }),
  z.object({ transactionPublicId: z.string() }),
]);

const gatewayOperationRequest = z.object({
  kind: gatewayOperationKindSchema,
  transactionPublicId: z.string(),
  amountMinor: z.int().positive().nullable(),
  currency: z.string(),
  exponent: z.int(),
});

/**
 * The sum of the order that was certainly paid back, in minor units; of an order that the gateway
 * has twice, the smaller sum. Missing: another installation's order, or an older supervisor.
 */
export const orderReturnedMinor = z.int().min(0).optional();

/**
 * Whether the gateway has the order exactly once. Then the journal adds a return to the sum paid
 * back, even if this database lacks earlier returns. Missing: not certain, or an older supervisor.
 */
const isThereOnce = z.literal(true).optional();

export const operationsOfSupervisor = {
  /**
   * Finds the gateway's transaction for an id. The transaction of an order is known only from a
   * verified notification or a lookup; an unknown transaction id is looked up.
   */
  "gateway-resolve": {
    request: gatewayTarget,
    response: z.discriminatedUnion("found", [
      gatewayTransactionSchema,
      z.object({ found: z.literal(false), why: z.string(), candidates: z.array(z.string()) }),
    ]),
  },
  /**
   * Carries out a confirm, cancel or refund, once; a repeated operation id gets the operation's
   * outcome. `operation` is null if another operation of this transaction is still open, or if the
   * refund is refused as a repetition.
   */
  "gateway-operation": {
    request: gatewayOperationRequest.extend({
      operationId: z.uuid(),
      /** The caller's idempotency key, stored with the whole request (`asked`). */
      key: z.object({ idempotencyKey: z.string(), asked: z.string() }).optional(),
      /** Whether a refund is refused if it equals another refund of the last 24 hours. */
      unlessRepeated: z.boolean().optional(),
    }),
    response: z.object({
      operation: gatewayOperationSchema.nullable(),
      orderReturnedMinor,
      isThereOnce,
      /** The refund that this one repeats; null: its record may be lost. Missing: no repetition. */
      repeats: gatewayOperationSchema.nullable().optional(),
    }),
  },
  /**
   * Finds the last operation with a caller's idempotency key and waits for its outcome. `known`
   * null: none is stored. `mayBeLost`: a loss of this database may have taken its record.
   */
  "gateway-key": {
    request: z.object({ idempotencyKey: z.string(), target: gatewayTarget }),
    response: z.object({
      known: z
        .object({
          asked: z.string(),
          operation: gatewayOperationSchema,
          orderId: z.string().nullable(),
          transactionId: z.string().nullable(),
          currency: z.string(),
          orderReturnedMinor,
        })
        .nullable(),
      mayBeLost: z.boolean(),
    }),
  },
  /**
   * Finds the outcome of an operation. An operation that never arrived here is closed as
   * "not-sent", so that its late message is not carried out; the answer is then null. An operation
   * that was `asked` for before this database was lost may have been sent, so it becomes unknown.
   */
  "gateway-operation-end": {
    request: z.object({
      operationId: z.uuid(),
      /** The request of the operation as tp-manager stored it. Missing: an older tp-manager. */
      asked: gatewayOperationRequest.extend({ askedAtMs: z.int() }).optional(),
    }),
    response: z.object({
      operation: gatewayOperationSchema.nullable(),
      orderReturnedMinor,
      isThereOnce,
    }),
  },
} as const;
