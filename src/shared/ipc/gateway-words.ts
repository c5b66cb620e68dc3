import { z } from "zod";

/** The state of a transaction's delivery to the gateway. */
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

export const gatewayOperationKindSchema = z.enum(["confirm", "cancel", "refund"]);
export type GatewayOperationKind = z.infer<typeof gatewayOperationKindSchema>;

/** A confirm, cancel or refund, which is sent at most once, and its end. */
export const gatewayOperationSchema = z.object({
  operationId: z.string(),
  kind: gatewayOperationKindSchema,
  transactionPublicId: z.string(),
  /** null: all of it. */
  amountMinor: z.int().nullable(),
  /**
   * "done" and "refused": the gateway's own word. "not-sent": the operation was not carried out.
   * "unknown": the answer was lost; a notification, a lookup or an operator settles the operation.
   */
  state: z.enum(["sending", "done", "refused", "not-sent", "unknown"]),
  code: z.int().nullable(),
  description: z.string(),
  /** A row of the fault table. */
  class: z.string().nullable(),
  askedAtMs: z.int(),
  endedAtMs: z.int().nullable(),
});
export type GatewayOperation = z.infer<typeof gatewayOperationSchema>;

/** All that a person has to find out at the gateway. */
export const openAtGatewaySchema = z.object({
  /** Their answer was lost. */
  operations: z.array(
    gatewayOperationSchema.extend({
      /** null: not one of this installation's orders. */
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
      /** Those that the gateway has named. */
      transactionPublicIds: z.array(z.string()),
      /** The order still waits, and nothing can be settled. */
      mayBeSent: z.boolean(),
    }),
  ),
  /** There are others of one kind or the other. */
  more: z.boolean(),
});
export type OpenAtGateway = z.infer<typeof openAtGatewaySchema>;

/** One step of an order's way to the gateway. */
export const sendingStepSchema = z.object({
  atMs: z.int(),
  /**
   * queued: handed over. try: the end of one. parked, closed, sent: what ended the tries other than
   * an answer of the gateway. requeue, drop: a person's word.
   */
  step: z.enum(["queued", "try", "parked", "closed", "sent", "requeue", "drop"]),
  /** Of a try, from 1. */
  number: z.int().nullable(),
  /** Of a try. not-known: the gateway may have it. */
  outcome: z.enum(["taken", "not-taken", "not-sent", "not-known"]).nullable(),
  /** Of a try: a row of the fault table. */
  class: z.string().nullable(),
  /** The gateway's words, the reason, or the person's note. */
  description: z.string(),
  /** The person, where that is known. */
  by: z.string().nullable(),
});
export type SendingStep = z.infer<typeof sendingStepSchema>;
export const sendingStepWords = sendingStepSchema.shape;

/**
 * How an order stands at the gateway, as far as the gateway has told. Of two notifications the one
 * with the later state here wins, in whatever order they came.
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
