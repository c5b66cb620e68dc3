import { z } from "zod";
import {
  deliveryStateSchema,
  gatewayOperationKindSchema,
  gatewayOperationSchema,
  gatewayStateSchema,
} from "../../../shared/ipc/contract.ts";

/** What the calls about the gateway and the outbox answer. */

const time = z.iso.datetime();
const success = z.literal("Success");
const publicId = z.string().describe("The gateway's own id.");
const code = z.int().nullable().describe("The gateway's; 0 is good.");
const operationState = gatewayOperationSchema.shape.state;

export const gatewayDone = z.object({
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

export const gatewaySettled = z.object({
  status: success,
  operationId: z.string(),
  transactionPublicId: publicId,
  state: operationState,
});

const decimal = z.string().optional();

/** The v3 transaction object; the gateway may add to it. */
export const gatewayTransaction = z
  .looseObject({
    id: z.int(),
    merchant_order_id: z.string().optional(),
    state: z.string().optional(),
    amount: decimal,
    authorized_amount: decimal,
    captured_amount: decimal,
    refunded_amount: decimal,
    chargebacked_amount: decimal,
    currency: z.string().optional(),
    operations: z.array(z.looseObject({})).optional(),
    fraud_reported_by_acquirer: z.boolean().optional(),
  })
  .describe("As the gateway tells it, card numbers masked.");

const event = z.object({
  at: time,
  kind: z.enum(["operation", "fraud"]),
  operation: z.string(),
  status: z.string(),
  transactionPublicId: publicId.nullable(),
  copies: z.int().min(1).describe("How often the same notification came."),
  details: z.record(z.string(), z.unknown()),
});

const operation = z.object({
  operationId: z.string(),
  kind: gatewayOperationKindSchema,
  transactionPublicId: publicId,
  amount: z.number().nullable(),
  state: operationState,
  code,
  description: z.string(),
  class: z.string().nullable(),
  askedAt: time,
  endedAt: time.nullable(),
});

/** How an order stands at the gateway, in `GET /payment/{orderId}`. */
export const gatewayStanding = z
  .union([
    z.object({
      state: gatewayStateSchema,
      fraudReported: z.boolean(),
      transactionPublicIds: z.array(publicId),
      history: z.array(event),
      operations: z.array(operation),
    }),
    z.object({ state: z.literal("unknown"), problem: z.string() }),
  ])
  .nullable()
  .describe("null: the supervisor was never given the order.");

export const outboxItem = z.object({
  transactionId: z.string(),
  orderId: z.string(),
  state: deliveryStateSchema,
  amount: z.number(),
  currency: z.string().length(3),
  queuedAt: time,
  nextTryAt: time.nullable(),
  settledAt: time.nullable(),
  tries: z.int().min(0),
  ambiguous: z.boolean().describe("The answer of at least one try was lost."),
  reason: z.string().nullable().describe("Why it is parked or closed."),
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

export const outboxDone = z.object({
  status: success,
  transactionId: z.string(),
  message: z.string(),
});
