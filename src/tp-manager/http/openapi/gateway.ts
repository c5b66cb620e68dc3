import { z } from "zod";
import {
  deliveryStateSchema,
  gatewayOperationKindSchema,
  gatewayOperationSchema,
  gatewayStateSchema,
  sendingStepFields,
} from "../../../shared/ipc/contract.ts";
import { accepted, amount, currency, jsonValue, orderId, time, transactionId } from "./schemas.ts";

export const publicId = z.string();
const ownPublicId = publicId.describe("The gateway's own id of the transaction.");
export const operationId = z.string();
const code = z.int().nullable().describe("The gateway's result code; 0: success.");

const { atMs: _, ...stepFields } = sendingStepFields;
const sendingStep = z.object({ at: time, ...stepFields });

const gatewayEvent = z.object({
  at: time,
  kind: z.enum(["operation", "fraud"]),
  operation: z.string(),
  status: z.string(),
  transactionPublicId: ownPublicId.nullable(),
  copies: z.int().min(1),
  details: z.record(z.string(), jsonValue),
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

export const gatewayStanding = z
  .union([
    z.object({
      state: gatewayStateSchema,
      fraudReported: z.boolean(),
      transactionPublicIds: z.array(ownPublicId),
      sending: z.array(sendingStep),
      history: z.array(gatewayEvent),
      operations: z.array(gatewayOperation),
      possibleOrders: z.int().min(0),
      failed: z.array(z.string()),
    }),
    z.object({ state: z.literal("unknown"), problem: z.string() }),
  ])
  .nullable();

export const operationDone = z.object({
  ...accepted,
  error: z.null(),
  operationId,
  transactionPublicId: ownPublicId,
  orderId: z.string().nullable(),
  code,
  description: z.string(),
  amount: z.number().nullable(),
  currency,
});

/** The transaction object of the gateway's API v3; the gateway also sends other members. */
export const gatewayTransaction = z
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
  .catchall(jsonValue);

const openOperation = z.object({
  operationId,
  kind: gatewayOperationKindSchema,
  orderId: z.string().nullable(),
  transactionPublicId: ownPublicId,
  amount: z.number().nullable(),
  currency,
  askedAt: time,
  description: z.string(),
});

export const openAtGateway = z.object({
  operations: z.array(openOperation),
  copies: z.array(
    z.object({
      orderId,
      transactionId,
      amount,
      currency,
      possibleOrders: z.int().min(2),
      transactionPublicIds: z.array(ownPublicId),
      mayBeSent: z.boolean(),
    }),
  ),
  more: z.boolean(),
});

export const outboxItem = z.object({
  transactionId,
  orderId,
  state: z.enum([...deliveryStateSchema.options, "refused"]),
  amount,
  currency,
  queuedAt: time,
  nextTryAt: time.nullable(),
  settledAt: time.nullable(),
  tries: z.int().min(0),
  ambiguous: z.boolean(),
  reason: z.string().nullable(),
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
