import type { FastifyError, FastifyInstance, FastifyRequest } from "fastify";
import { AppError, type Charged, type ErrorCode, errorTable } from "../../shared/catalog/errors.ts";
import { maskPansInUrl } from "../../shared/masking/mask.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { emptyReceipt } from "../../shared/receipt.ts";
import { answerOf } from "../orders/answer.ts";
import type { Orders } from "../orders/orders.ts";
import type { AnyCall } from "./call.ts";
import { sendError } from "./envelope.ts";

/** The order of a request, as far as it was read before the request was refused. */
export interface About {
  readonly orderId: string;
  readonly echo: object;
}

const frameworkCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "BODY_TOO_LARGE",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "CONTENT_TYPE_REFUSED",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "BODY_NOT_JSON",
  FST_ERR_CTP_EMPTY_JSON_BODY: "BODY_NOT_JSON",
};

export function installErrorAnswers(app: FastifyInstance, orders: Orders, log: Logger): void {
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
    const answered = new AppError(known.code, known.message, about);
    return sendError(reply, answered, await more(request, orders));
  });
}

const noProof = { receipt: emptyReceipt, ticket: "", notificationGatewaySent: false };

/**
 * Returns the further members of a refusal. The refusal of a call that answers a payment has the
 * members of a payment, from the stored order or empty; before authentication it has none.
 */
async function more({ role, about, routeOptions }: FastifyRequest, orders: Orders) {
  if (role === null || !routeOptions.config.call?.answersPayment) return {};
  return { ...about?.echo, ...(about ? await proofOf(about.orderId, orders) : noProof) };
}

async function proofOf(orderId: string, orders: Orders) {
  try {
    const { attempt, delivery } = await orders.lookUp(orderId);
    const { receipt, ticket, notificationGatewaySent } = answerOf(attempt, delivery).body;
    return { receipt, ticket, notificationGatewaySent };
  } catch {
    return noProof; // the order is not stored or cannot be read, which the refusal says already
  }
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code = "", statusCode = 0, message } = error as Partial<FastifyError>;
  const known = frameworkCodes[code];
  if (known) return new AppError(known);
  if (statusCode === 401) return new AppError("UNAUTHORIZED");
  if (statusCode >= 400 && statusCode < 500) return new AppError("REQUEST_INVALID", message);
  // An unexpected fault does not show how much of the request was carried out.
  return new AppError("INTERNAL", undefined, { mayBeDone: true, cause: error });
}

/**
 * Returns whether the order that a request is about is charged, no matter what failed
 * (docs/rules/10-charged.md, docs/rules/23-asked.md). undefined: the request names no known order,
 * so the error's own value is answered. Before authentication a call about orders gets "unknown": a
 * kiosk without a valid login may ask about a charged order.
 */
function chargedOfAsked(
  request: FastifyRequest,
  error: AppError,
  orders: Orders,
): Charged | undefined {
  const { role, routeOptions } = request;
  const { call } = routeOptions.config;
  if (role === null) return !call || isAboutOrders(call) ? "unknown" : undefined;
  const { gatewayId, ordersOf } = call ?? {};
  const orderId = error.orderId ?? namedOrder(request, orders);
  const asked = orderId === undefined ? ordersOf?.(request.body) : [orderId];
  const charged = chargedOfAll(asked ?? [], orders);
  // The order of a gateway's transaction id is known only once the supervisor has found it.
  const byGatewayId = gatewayId !== undefined && member(request[gatewayId.in], gatewayId.name);
  return charged ?? (byGatewayId ? "unknown" : undefined);
}

function isAboutOrders({ path, body, idOf, gatewayId, ordersOf }: AnyCall): boolean {
  const { shape = {} } = (body ?? {}) as { readonly shape?: object };
  const named = path.includes("{orderId}") || "orderId" in shape;
  return named || idOf !== undefined || gatewayId !== undefined || ordersOf !== undefined;
}

/** Returns whether all these orders are charged; "unknown" if they differ. */
function chargedOfAll(orderIds: readonly string[], orders: Orders): Charged | undefined {
  const [first, ...others] = orderIds;
  if (first === undefined) return undefined;
  const charged = orders.chargedOfOrder(first);
  return others.every((one) => orders.chargedOfOrder(one) === charged) ? charged : "unknown";
}

function namedOrder(request: FastifyRequest, orders: Orders): string | undefined {
  const { params, body, routeOptions } = request;
  const named = member(params, "orderId") ?? member(body, "orderId");
  const id = named ?? member(params, "id");
  return routeOptions.config.call?.idOf === "transaction" && id !== undefined
    ? orders.orderOfTransaction(id)
    : id;
}

/** Returns a member of an unchecked part of a request; undefined: it is missing or no text. */
function member(of: unknown, name: string): string | undefined {
  const value = (of as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === "string" ? value : undefined;
}

/** Returns the details of an error; if they name another order, also whether it is charged. */
function detailsOf({ details }: AppError, orders: Orders): AppError["details"] {
  const { orderId } = details ?? {};
  if (typeof orderId !== "string") return details;
  return { ...details, charged: orders.chargedOfOrder(orderId) ?? "unknown" };
}
