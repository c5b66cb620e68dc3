import { z } from "zod";
import {
  deliveryStateSchema,
  gatewayOperationKindSchema,
  gatewayOperationSchema,
  gatewayStateSchema,
} from "../../../shared/ipc/contract.ts";
import { sendingStep } from "./evidence.ts";
import { jsonValue, success, time } from "./schemas.ts";

/** The members of the calls about the gateway, and of what waits to be sent there. */

const publicId = z.string().describe("The gateway's own id.");
const code = z.int().nullable().describe("The gateway's; 0 is good.");

const gatewayEvent = z.object({
  at: time,
  kind: z.enum(["operation", "fraud"]),
  operation: z.string(),
  status: z.string(),
  transactionPublicId: publicId.nullable(),
  copies: z.int().min(1).describe("How often the same notification came."),
  details: z.record(z.string(), jsonValue).describe("As the gateway told it, masked."),
});

const gatewayOperation = z.object({
  operationId: z.string(),
  kind: gatewayOperationKindSchema,
  transactionPublicId: publicId,
  amount: z.number().nullable(),
  state: gatewayOperationSchema.shape.state,
  code,
  description: z.string(),
  class: z.string().nullable(),
  askedAt: time,
  endedAt: time.nullable(),
});

/** How an order stands at the gateway. */
export const gatewayStanding = z
  .union([
    z.object({
      state: gatewayStateSchema,
      fraudReported: z.boolean(),
      transactionPublicIds: z.array(publicId),
      sending: z.array(sendingStep),
      history: z.array(gatewayEvent),
      operations: z.array(gatewayOperation),
      possibleOrders: z
        .int()
        .min(0)
        .describe("How many orders of it the gateway may have; 0: nothing of that is open."),
      failed: z
        .array(z.string())
        .describe("Ids of operations that were answered as done and then notified as failed."),
    }),
    z.object({ state: z.literal("unknown"), problem: z.string() }),
  ])
  .nullable()
  .describe("null: the supervisor was never given the order.");

export const operationDone = z.object({
  status: success,
  error: z.null(),
  operationId: z.string(),
  transactionPublicId: publicId,
  orderId: z.string().nullable().describe("null: not an order of this installation."),
  code,
  description: z.string().describe("The gateway's words."),
  amount: z.number().nullable().describe("In major units; null: all of it."),
  currency: z.string().length(3),
});

const decimal = z.string().optional();
/** The v3 transaction object; the gateway has more members and may add others. */
export const gatewayTransaction = z
  .object({
    id: z.int(),
    merchant_order_id: z.string().optional(),
    state: z.string().optional(),
    amount: decimal,
    authorized_amount: decimal,
    captured_amount: decimal,
    refunded_amount: decimal,
    chargebacked_amount: decimal,
    currency: z.string().optional(),
    operations: z
      .array(
        z
          .object({ type: z.string(), status: z.string(), amount: z.string() })
          .partial()
          .catchall(jsonValue),
      )
      .optional(),
    fraud_reported_by_acquirer: z.boolean().optional(),
  })
  .catchall(jsonValue)
  .describe("As the gateway tells it, card numbers masked.");

export const openAtGateway = z.object({
  operations: z.array(
    z.object({
      operationId: z.string(),
      kind: gatewayOperationKindSchema,
      orderId: z.string().nullable().describe("null: not one of this installation's."),
      transactionPublicId: publicId,
      amount: z.number().nullable().describe("null: all of it."),
      currency: z.string().length(3),
      askedAt: time,
      description: z.string(),
    }),
  ),
  copies: z.array(
    z.object({
      orderId: z.string(),
      transactionId: z.string(),
      amount: z.number(),
      currency: z.string().length(3),
      possibleOrders: z.int().min(2),
      transactionPublicIds: z.array(publicId).describe("Those that the gateway has named."),
      mayBeSent: z.boolean().describe("The order still waits: nothing can be settled yet."),
    }),
  ),
  more: z.boolean().describe("There are others."),
});

export const outboxItem = z.object({
  transactionId: z.string(),
  orderId: z.string(),
  state: z.enum([...deliveryStateSchema.options, "refused"]),
  amount: z.number(),
  currency: z.string().length(3),
  queuedAt: time,
  nextTryAt: time.nullable(),
  settledAt: time.nullable(),
  tries: z.int().min(0),
  ambiguous: z.boolean().describe("The answer of at least one try was lost."),
  reason: z.string().nullable().describe("Why it is parked, refused or closed."),
  lastTry: z
    .object({
      endedAt: time,
      class: z.string(),
      httpStatus: z.int().nullable(),
      code: z.int().nullable(),
      description: z.string(),
    })
    .nullable(),
});
