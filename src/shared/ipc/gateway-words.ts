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
