import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/errors.ts";
import {
  type GatewayHistory,
  gatewayOperationKindSchema,
  NOTE_CHARACTERS_MAX,
} from "../../../shared/ipc/contract.ts";
import { AmountError, type Currency, formatMajor, parseAmount } from "../../../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../../shared/receipt.ts";
import { returnOf } from "../../attempts/payment.ts";
import type { GatewayTarget } from "../../supervisor/gateway-desk.ts";
import type { ApiOptions } from "../app.ts";
import { sendOne } from "../envelope.ts";
import { JsonNumber } from "../json-body.ts";
import { fault, members, text } from "./body-members.ts";
import { requireOperator, requireOwnOperator } from "./terminal-routes.ts";

type Call = FastifyRequest<{ Body: Record<string, unknown> | undefined }>;
type LookupCall = FastifyRequest<{ Params: { id: string } }>;

const PUBLIC_ID_CHARACTERS_MAX = 32;

/** The gateway's operations (docs/design.md 5.14): an operator's, when there is one. */
export function installGatewayRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { gateway, supervisor } = options;

  for (const kind of gatewayOperationKindSchema.options) {
    app.post(`/gateway/${kind}`, async (call: Call, reply) => {
      requireOperator(call, options);
      const known = ["orderId", "transactionPublicId", ...(kind === "cancel" ? [] : ["amount"])];
      const body = members(call, known);
      const target = targetOf(body);
      const result = await gateway.ask(kind, target, (currency) => amountOf(body, currency));
      const { operation, orderId, currency, amountMinor } = result;
      return sendOne(reply, 200, {
        status: "Success",
        error: null,
        operationId: operation.operationId,
        transactionPublicId: operation.transactionPublicId,
        orderId,
        code: operation.code,
        description: operation.description,
        amount: major(amountMinor, currency),
        currency: currency.alpha,
      });
    });
  }

  /** What an operator found out about an operation whose answer was lost. */
  app.post("/gateway/settle", async (call: Call, reply) => {
    requireOwnOperator(call, options);
    const body = members(call, ["orderId", "transactionPublicId", "happened", "note"]);
    const { happened } = body;
    if (typeof happened !== "boolean") throw fault("happened", "must be true or false");
    const note = text("note", body["note"]);
    if (note.length > NOTE_CHARACTERS_MAX) {
      throw fault("note", `must be at most ${NOTE_CHARACTERS_MAX} characters`);
    }
    const operation = await gateway.settle(targetOf(body), happened, note);
    const { operationId, transactionPublicId, state } = operation;
    return sendOne(reply, 200, { status: "Success", operationId, transactionPublicId, state });
  });

  app.get("/gateway/transaction/:id", async (call: LookupCall, reply) => {
    requireOperator(call, options);
    const given = call.params.id;
    const id = (await gateway.publicIdOf(given)) ?? identifier("id", given);
    const answer = await supervisor.ask("gateway-lookup", { id });
    if (answer.outcome === "not-found") throw new AppError("GATEWAY_TRANSACTION_NOT_FOUND");
    if (answer.outcome === "failed" || answer.transaction === null) {
      const details = { description: answer.description };
      throw new AppError("GATEWAY_LOOKUP_FAILED", undefined, { details });
    }
    return sendOne(reply, 200, answer.transaction);
  });
}

/** States in which the gateway has given money back, asked by us or by somebody else. */
const returnedStates: readonly GatewayHistory["state"][] = [
  "partly-refunded",
  "refunded",
  "cancelled",
  "reversed",
];

/**
 * Money that went back at the gateway without us (a merchant's own refund, a chargeback) is told
 * only by its notifications: the terminal must not return it again (docs/design.md 3.7). A
 * supervisor that does not answer keeps nobody from a reversal.
 */
export async function assertNotReturnedElsewhere(
  { orders, supervisor }: ApiOptions,
  orderId: string,
): Promise<void> {
  const attempt = orders.latest(orderId);
  if (attempt.state.phase !== "charged" || returnOf(attempt) !== "none") return;
  const history = await supervisor.ask("gateway-history", { orderId }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
  });
  if (!history || !returnedStates.includes(history.state)) return;
  throw new AppError("REVERSAL_REFUSED", `The order is ${history.state} at the gateway.`, {
    details: { state: history.state },
  });
}

/** `gateway` of `GET /payment/{orderId}`; null for an order the supervisor was never given. */
export async function gatewayPart(
  { supervisor }: ApiOptions,
  orderId: string,
  currency: Currency,
): Promise<object | null> {
  let history: GatewayHistory;
  try {
    history = await supervisor.ask("gateway-history", { orderId });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { state: "unknown", problem: error.message };
  }
  const { known, events, operations, ...standing } = history;
  if (!known) return null;
  return {
    ...standing,
    history: events.map(({ atMs, ...event }) => ({ at: iso(atMs), ...event })),
    operations: operations.map(({ askedAtMs, endedAtMs, amountMinor, ...operation }) => ({
      ...operation,
      amount: major(amountMinor, currency),
      askedAt: iso(askedAtMs),
      endedAt: endedAtMs === null ? null : iso(endedAtMs),
    })),
  };
}

function targetOf(body: Record<string, unknown>): GatewayTarget {
  const { orderId, transactionPublicId } = body;
  if ((orderId === undefined) === (transactionPublicId === undefined)) {
    throw fault("orderId", "or transactionPublicId must be given, one of the two");
  }
  return orderId === undefined
    ? { transactionPublicId: identifier("transactionPublicId", transactionPublicId) }
    : { orderId: text("orderId", orderId) };
}

function identifier(field: string, value: unknown): string {
  const form = new RegExp(`^[0-9A-Za-z]{1,${PUBLIC_ID_CHARACTERS_MAX}}$`);
  if (typeof value === "string" && form.test(value)) return value;
  throw fault(field, `must be 1 to ${PUBLIC_ID_CHARACTERS_MAX} letters and digits`);
}

function amountOf({ amount }: Record<string, unknown>, currency: Currency): number | undefined {
  if (amount === undefined || amount === null) return undefined;
  if (!(amount instanceof JsonNumber)) throw fault("amount", "must be a number, for example 1.50");
  try {
    return parseAmount(amount.source, currency, RECEIPT_AMOUNT_DIGITS);
  } catch (error) {
    if (error instanceof AmountError) throw fault("amount", error.message);
    throw error;
  }
}

function major(amountMinor: number | null, { exponent }: Currency): number | null {
  return amountMinor === null ? null : Number(formatMajor(amountMinor, exponent));
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
