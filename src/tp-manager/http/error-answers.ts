import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError, type ErrorCode, errorTable } from "../../shared/catalog/errors.ts";
import { maskPansInUrl } from "../../shared/masking/mask.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { emptyReceipt } from "../../shared/receipt.ts";
import { answerOf, type PaymentAnswer } from "../orders/answer.ts";
import type { Orders } from "../orders/orders.ts";
import { chargedOfAsked, detailsOf } from "./asked-order.ts";
import { sendError } from "./envelope.ts";

/** The members that were understood of a request that was refused later. */
export interface About {
  readonly orderId: string;
  /** Members of the request that its refusal repeats. */
  readonly echo: object;
}

/** Codes of the HTTP framework and their meaning here. */
const frameworkCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "BODY_TOO_LARGE",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "CONTENT_TYPE_REFUSED",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "BODY_NOT_JSON",
  FST_ERR_CTP_EMPTY_JSON_BODY: "BODY_NOT_JSON",
  FST_BASIC_AUTH_MISSING_OR_BAD_AUTHORIZATION_HEADER: "UNAUTHORIZED",
};

export function installErrorAnswers(
  app: FastifyInstance,
  orders: Pick<Orders, "lookUp" | "chargedOf" | "orderOfTransaction">,
  log: Logger,
): void {
  app.setErrorHandler(async (error: unknown, request, reply) => {
    const known = toAppError(error);
    const { http } = errorTable[known.code];
    if (http === 500 || known.code === "STORAGE_FAILED") {
      const url = maskPansInUrl(request.url);
      log.error({ err: error, method: request.method, url }, "a call failed");
    }
    const charged = chargedOfAsked(request, known, orders) ?? known.charged;
    const { mayBeDone } = known;
    const about = { charged, details: detailsOf(known, orders), mayBeDone, cause: error };
    const told = new AppError(known.code, known.message, about);
    return sendError(reply, told, await more(request, orders));
  });
}

type Proof = Pick<PaymentAnswer, "receipt" | "ticket" | "notificationGatewaySent">;

const noProof: Proof = { receipt: emptyReceipt(), ticket: "", notificationGatewaySent: false };

/**
 * A refusal of a call that answers payments has the members that every payment has: those of the
 * order that it is about, when that is stored, else empty ones. Before authentication nothing.
 */
async function more(
  { role, about, routeOptions }: FastifyRequest,
  orders: Pick<Orders, "lookUp">,
): Promise<object> {
  if (role === null || !routeOptions.config.call?.answersPayment) return {};
  return { ...about?.echo, ...(about ? await proofOf(about.orderId, orders) : noProof) };
}

async function proofOf(orderId: string, orders: Pick<Orders, "lookUp">): Promise<Proof> {
  try {
    const { attempt, delivery } = await orders.lookUp(orderId);
    const { receipt, ticket, notificationGatewaySent } = answerOf(attempt, delivery).body;
    return { receipt, ticket, notificationGatewaySent };
  } catch {
    return noProof; // not stored, or the journal cannot be read: the error itself says so
  }
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code, statusCode, message } = error as {
    code?: string;
    statusCode?: number;
    message?: string;
  };
  const known = code === undefined ? undefined : frameworkCodes[code];
  if (known) return new AppError(known);
  if (statusCode === 401) return new AppError("UNAUTHORIZED");
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new AppError("REQUEST_INVALID", message);
  }
  return new AppError("INTERNAL", undefined, { cause: error });
}
