import { z } from "zod";
import {
  deliveryStateSchema,
  gatewayOperationKindSchema,
  gatewayOperationSchema,
  gatewayStateSchema,
  sendingStepFields,
} from "../../../shared/ipc/contract.ts";
import { like, listOf } from "./examples.ts";
import { amount, currency, jsonValue, orderId, success, time, transactionId } from "./schemas.ts";

/** The answers about the gateway, and about what waits to be sent there. */

export const publicId = like(z.string(), "0A1B2C3D4E5F6071");
const ownPublicId = publicId.describe("The gateway's own id.");
export const operationId = like(z.string(), "5f0c6f52-6b0e-4a5a-8f8c-1a2b3c4d5e6f");
const code = z.int().nullable().describe("The gateway's; 0 is good.");

const sendingStep = z.object({
  at: like(time, "2026-01-15T12:00:03.000Z"),
  step: like(sendingStepFields.step, "try"),
  number: like(sendingStepFields.number, 1),
  outcome: like(sendingStepFields.outcome, "taken"),
  class: like(sendingStepFields.class, "sent"),
  description: z.string(),
  by: z.string().nullable(),
});

const gatewayEvent = z.object({
  at: like(time, "2026-01-15T12:00:04.000Z"),
  kind: z.enum(["operation", "fraud"]),
  operation: like(z.string(), "capture"),
  status: like(z.string(), "ok"),
  transactionPublicId: like(ownPublicId.nullable(), "0A1B2C3D4E5F6071"),
  copies: like(z.int().min(1), 1),
  details: like(z.record(z.string(), jsonValue), {
    operation: "capture",
    status: "ok",
    origAmount: "12.00",
  }),
});

const gatewayOperation = z.object({
  operationId: z.string(),
  kind: gatewayOperationKindSchema,
  transactionPublicId: ownPublicId,
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
      state: like(gatewayStateSchema, "captured"),
      fraudReported: z.boolean(),
      transactionPublicIds: listOf(ownPublicId),
      sending: listOf(sendingStep),
      history: listOf(gatewayEvent),
      operations: z.array(gatewayOperation),
      possibleOrders: z.int().min(0),
      failed: z.array(z.string()),
    }),
    z.object({ state: z.literal("unknown"), problem: z.string() }),
  ])
  .nullable();

export const operationDone = z.object({
  status: success,
  error: z.null(),
  operationId,
  transactionPublicId: ownPublicId,
  orderId: like(z.string().nullable(), "A-1001"),
  code: like(code, 0),
  description: like(z.string(), "transaction has been cancelled"),
  amount: like(z.number().nullable(), 12),
  currency,
});

/** The v3 transaction object; the gateway has more members and may add others. */
export const gatewayTransaction = like(
  z
    .object({
      id: z.int(),
      merchant_order_id: z.string().optional(),
      state: z.string().optional(),
      amount: z.string().optional(),
      authorized_amount: z.string().optional(),
      captured_amount: z.string().optional(),
      refunded_amount: z.string().optional(),
      chargebacked_amount: z.string().optional(),
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
    .catchall(jsonValue),
  {
    id: 155227950169,
    merchant_order_id: "A-1001",
    state: "completed",
    amount: "12.00",
    captured_amount: "12.00",
    refunded_amount: "0.00",
    currency: "EUR",
    operations: [{ type: "CAPTURE", status: "COMPLETED", amount: "12.00" }],
  },
);

const openOperation = like(
  z.object({
    operationId,
    kind: gatewayOperationKindSchema,
    orderId: z.string().nullable(),
    transactionPublicId: ownPublicId,
    amount: like(z.number().nullable(), 5),
    currency,
    askedAt: time,
    description: like(z.string(), "no answer in time"),
  }),
  {
    operationId: "5f0c6f52-6b0e-4a5a-8f8c-1a2b3c4d5e6f",
    transactionPublicId: "0A1B2C3D4E5F6071",
    orderId: "A-1001",
    kind: "refund",
  },
);

export const openAtGateway = z.object({
  operations: listOf(openOperation),
  copies: listOf(
    z.object({
      orderId,
      transactionId,
      amount,
      currency,
      possibleOrders: like(z.int().min(2), 2),
      transactionPublicIds: listOf(ownPublicId),
      mayBeSent: z.boolean(),
    }),
  ),
  more: z.boolean(),
});

export const outboxItem = z.object({
  transactionId,
  orderId,
  state: like(z.enum([...deliveryStateSchema.options, "refused"]), "parked"),
  amount,
  currency,
  queuedAt: time,
  nextTryAt: time.nullable(),
  settledAt: like(time.nullable(), "2026-01-15T12:00:01.000Z"),
  tries: like(z.int().min(0), 1),
  ambiguous: z.boolean(),
  reason: like(
    z.string().nullable(),
    "another code than 0 and 1: the gateway refused: currency invalid",
  ),
  lastTry: z
    .object({
      endedAt: like(time, "2026-01-15T12:00:01.000Z"),
      class: like(z.string(), "order-refused"),
      httpStatus: like(z.int().nullable(), 200),
      code: like(z.int().nullable(), 3),
      description: like(z.string(), "currency invalid"),
    })
    .nullable(),
});
