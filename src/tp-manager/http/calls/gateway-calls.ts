import { z } from "zod";
import { AppError, type ErrorCode } from "../../../shared/catalog/errors.ts";
import {
  type GatewayOperationKind,
  gatewayOperationKindSchema,
  gatewayOperationSchema,
  NOTE_CHARACTERS_MAX,
  type OpenAtGateway,
  OUTBOX_PAGE_MAX,
} from "../../../shared/ipc/contract.ts";
import { majorOf } from "../../../shared/money.ts";
import { isoTime } from "../../../shared/time.ts";
import { invalid } from "../../attempts/failures.ts";
import type { GatewayTarget } from "../../supervisor/gateway-operations.ts";
import { amount, exactlyOne, note, orderId, pageLimit, yesOrNo } from "../body/input.ts";
import { readAmount } from "../body/json-body.ts";
import { type Answer, type AnyCall, call } from "../call.ts";
import { success } from "../envelope.ts";

const PUBLIC_ID_CHARACTERS_MAX = 32;
const publicIdForm = new RegExp(`^[0-9A-Za-z]{1,${PUBLIC_ID_CHARACTERS_MAX}}$`);
const publicIdMessage = `must be 1 to ${PUBLIC_ID_CHARACTERS_MAX} letters and digits`;

const target = {
  orderId: orderId.optional(),
  transactionPublicId: z.string(publicIdMessage).regex(publicIdForm, publicIdMessage).optional(),
};
const bodyWith = <T extends z.core.$ZodLooseShape>(members: T) =>
  exactlyOne(z.strictObject({ ...target, ...members }), "orderId", "transactionPublicId");
const gatewayId = { in: "body", name: "transactionPublicId" } as const;

const operating: readonly ErrorCode[] = [
  "CARD_DATA_REFUSED",
  "ORDER_NOT_FOUND",
  "ORDER_NOT_CHARGED",
  "ORDER_REVERSED",
  "PAYMENT_UNKNOWN",
  "GATEWAY_ID_UNKNOWN",
  "GATEWAY_OPERATION_OPEN",
  "GATEWAY_REFUSED",
  "GATEWAY_NOT_SENT",
  "GATEWAY_OPERATION_UNKNOWN",
  "SUPERVISOR_UNAVAILABLE",
];
const idempotencyKey = orderId
  .optional()
  .describe("A key of the caller's choice: with the same key and body nothing is sent again.");

/** Operators' calls (docs/design.md 5.14) about the gateway (docs/rules/35-gateway-returns.md). */
export const gatewayCalls: readonly AnyCall[] = [
  ...gatewayOperationKindSchema.options.map(operation),

  call({
    path: "/gateway/settle",
    gatewayId,
    role: "own-operator",
    body: bodyWith({ happened: yesOrNo, note: note(NOTE_CHARACTERS_MAX) }),
    document: ({ accepted, operationId, publicId }) => ({
      answer: z.object({
        ...accepted,
        operationId,
        transactionPublicId: publicId,
        state: gatewayOperationSchema.shape.state,
      }),
      errors: ["NOTHING_TO_SETTLE", ...operating],
    }),
    async handle({ body: { happened, note, ...target } }, { gateway }) {
      const operation = await gateway.settle(target as GatewayTarget, happened, note);
      const { operationId, transactionPublicId, state } = operation;
      return { ...success, operationId, transactionPublicId, state };
    },
  }),

  call({
    path: "/gateway/copies",
    role: "own-operator",
    body: z.strictObject({ orderId, note: note(NOTE_CHARACTERS_MAX) }),
    document: ({ accepted, orderId, publicId }) => ({
      answer: z.object({
        ...accepted,
        orderId,
        transactionPublicIds: z.array(publicId),
      }),
      errors: [
        "NOTHING_TO_SETTLE",
        "CARD_DATA_REFUSED",
        "ORDER_NOT_FOUND",
        "SUPERVISOR_UNAVAILABLE",
      ],
    }),
    async handle({ body: { orderId, note } }, { gateway }) {
      const transactionPublicIds = await gateway.settleCopies(orderId, note);
      return { ...success, orderId, transactionPublicIds };
    },
  }),

  call({
    path: "/gateway/open",
    reads: true,
    role: "operator",
    query: z.strictObject({ limit: pageLimit(OUTBOX_PAGE_MAX) }),
    document: ({ openAtGateway }) => ({
      answer: openAtGateway,
      errors: ["SUPERVISOR_UNAVAILABLE"],
    }),
    handle: async ({ query }, { supervisor }) =>
      openView(await supervisor.ask("gateway-open", query)),
  }),

  call({
    path: "/gateway/transaction/{id}",
    gatewayId: { in: "params", name: "id" },
    reads: true,
    role: "operator",
    document: ({ gatewayTransaction }) => ({
      answer: gatewayTransaction,
      errors: [
        "GATEWAY_ID_UNKNOWN",
        "GATEWAY_TRANSACTION_NOT_FOUND",
        "GATEWAY_LOOKUP_FAILED",
        "SUPERVISOR_UNAVAILABLE",
      ],
    }),
    async handle({ params }, { gateway, supervisor }) {
      const id = (await gateway.publicIdOf(params.id)) ?? params.id;
      if (!publicIdForm.test(id)) throw invalid("id", publicIdMessage);
      const answer = await supervisor.ask("gateway-lookup", { id });
      if (answer.outcome === "not-found") throw new AppError("GATEWAY_TRANSACTION_NOT_FOUND");
      if (answer.outcome === "failed" || answer.transaction === null) {
        const details = { description: answer.description };
        throw new AppError("GATEWAY_LOOKUP_FAILED", undefined, { details });
      }
      return answer.transaction as Answer<"gatewayTransaction">;
    },
  }),
];

function openView({ operations, copies, more }: OpenAtGateway) {
  return {
    operations: operations.map(({ askedAtMs, amountMinor, exponent, ...one }) => ({
      operationId: one.operationId,
      kind: one.kind,
      orderId: one.orderId,
      transactionPublicId: one.transactionPublicId,
      amount: majorOf(amountMinor, { exponent }),
      currency: one.currency,
      askedAt: isoTime(askedAtMs),
      description: one.description,
    })),
    copies: copies.map(({ amountMinor, exponent, ...one }) => ({
      ...one,
      amount: majorOf(amountMinor, { exponent }),
    })),
    more,
  };
}

function operation(kind: GatewayOperationKind): AnyCall {
  // A cancel is always for the whole amount.
  const part = kind === "cancel" ? {} : { amount: amount().nullish() };
  const isRefund = kind === "refund";
  const again = yesOrNo.optional().describe("Whether an equal refund is to be made once more.");
  return call({
    path: `/gateway/${kind}`,
    gatewayId,
    role: "operator",
    body: bodyWith({ ...part, idempotencyKey, ...(isRefund ? { again } : {}) }),
    document: ({ operationDone }) => ({
      answer: operationDone,
      errors: [
        ...operating,
        "IDEMPOTENCY_KEY_REUSED",
        ...(kind === "confirm" ? [] : (["STORES_DISAGREE"] as const)),
        ...(isRefund ? (["REFUND_REPEATED"] as const) : []),
      ],
    }),
    async handle({ body, request, reply }, { gateway }) {
      const { orderId, transactionPublicId, idempotencyKey } = body;
      const amount = "amount" in body ? body.amount : null;
      const again = "again" in body && body.again === true;
      const target = (
        orderId === undefined ? { transactionPublicId } : { orderId }
      ) as GatewayTarget;
      const asked = [kind, orderId, transactionPublicId?.toUpperCase(), amount, again];
      const result = await gateway.ask(
        kind,
        target,
        (currency) => readAmount(request.body, currency),
        { idempotencyKey, again, asked: JSON.stringify(asked) },
      );
      const { operation, currency, amountMinor } = result;
      if (result.replayed) void reply.header("idempotent-replay", "true");
      return {
        ...success,
        error: null,
        operationId: operation.operationId,
        transactionPublicId: operation.transactionPublicId,
        orderId: result.orderId,
        code: operation.code,
        description: operation.description,
        amount: majorOf(amountMinor, currency),
        currency: currency.alpha,
      };
    },
  });
}
