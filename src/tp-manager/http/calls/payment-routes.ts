import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/errors.ts";
import type { Attempt, AttemptEvent, PaymentRequest } from "../../attempts/payment.ts";
import { answerOf } from "../../orders/answer.ts";
import type { PaymentResult } from "../../orders/orders.ts";
import type { ApiOptions } from "../app.ts";
import { sendError, sendOne } from "../envelope.ts";
import { readPaymentRequest } from "../payment-request.ts";
import { gatewayPart } from "./gateway-routes.ts";

type PaymentCall = FastifyRequest<{ Body: Record<string, unknown> | undefined }>;

export function installPaymentRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { orders, defaultCurrency, log } = options;

  async function pay(call: PaymentCall, reply: FastifyReply): Promise<FastifyReply> {
    if (call.body === undefined) throw new AppError("BODY_NOT_JSON", "The body is missing.");
    const request = readPaymentRequest(call.body, defaultCurrency);
    const generatedId = request.generatedId ? request.orderId : undefined;
    try {
      const result = await orders.pay(request);
      whenWritten(reply, generatedId);
      return sendResult(reply, result);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (isNamed(request, error)) whenWritten(reply, generatedId);
      return sendError(reply, error, repeated(request, error));
    }
  }

  /**
   * docs/design.md 3.11: an answer that was not written completely blocks a second one of its kind.
   */
  function whenWritten(reply: FastifyReply, orderId: string | undefined): void {
    if (orderId === undefined) return;
    reply.raw.once("finish", () => {
      try {
        orders.answerRead(orderId);
      } catch (error) {
        log.error({ orderId, err: error }, "the journal did not take that an answer was read");
      }
    });
  }

  app.post("/payment", pay);
  app.post("/", pay);

  app.get<{ Params: { orderId: string } }>("/payment/:orderId", async (call, reply) => {
    const { orderId } = call.params;
    await options.gateway.reconcile(orders.latest(orderId)).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error; // it stays as it is, and is shown so
    });
    const found = await orders.lookUp(orderId);
    whenWritten(reply, found.attempt.request.generatedId ? orderId : undefined);
    const { http, body } = answerOf(found.attempt, found.delivery);
    // The lookup itself went well; only an outcome that is still open keeps its own status.
    return sendOne(reply, http === 504 ? 504 : 200, {
      ...body,
      gateway: await gatewayPart(options, orderId, found.attempt.request.currency),
      attempts: found.attempts.map(history),
    });
  });
}

export function sendResult(reply: FastifyReply, result: PaymentResult): FastifyReply {
  const { http, body } = answerOf(result.attempt, result.delivery);
  if (!result.replayed) return sendOne(reply, http, body);
  void reply.header("idempotent-replay", "true");
  const answeredAt = new Date(result.attempt.endedAtMs ?? result.attempt.startedAtMs);
  return sendOne(reply, http, { ...body, replayed: true, answeredAt: answeredAt.toISOString() });
}

/** What an error answer can repeat of a request that was understood. */
function repeated(request: PaymentRequest, error: AppError): object {
  const { orderId, currency, echo } = request;
  return { ...(isNamed(request, error) ? { orderId } : {}), currency: currency.alpha, ...echo };
}

/**
 * A generated id is told when a payment may be stored under it: without the id nobody could look
 * the order up, and its answer must not count as read (docs/design.md 3.11).
 */
function isNamed({ generatedId }: PaymentRequest, { code }: AppError): boolean {
  return !generatedId || code === "STORAGE_FAILED";
}

/** One attempt of the order with everything that happened to it, masked as it was stored. */
function history(attempt: Attempt & { events: AttemptEvent[] }): object {
  const { body } = answerOf(attempt, null);
  return {
    transactionId: attempt.transactionId,
    number: attempt.number,
    status: body.status,
    error: body.error,
    amount: body.amount,
    currency: body.currency,
    startedAt: new Date(attempt.startedAtMs).toISOString(),
    endedAt: attempt.endedAtMs === null ? null : new Date(attempt.endedAtMs).toISOString(),
    baseline: attempt.baseline,
    events: attempt.events.map(({ atMs, kind, detail }) => ({
      at: new Date(atMs).toISOString(),
      kind,
      ...detail,
    })),
  };
}
