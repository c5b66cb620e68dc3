import type { FastifyRequest } from "fastify";
import type { AppError, Charged } from "../../shared/catalog/errors.ts";
import type { Orders } from "../orders/orders.ts";
import type { AnyCall } from "./call.ts";

type Known = Pick<Orders, "chargedOf" | "orderOfTransaction">;

/**
 * `charged` of the order that a request is about, whatever it was that failed
 * (docs/rules/23-asked.md). undefined: the request names no order that was ever asked for, so the
 * row of the error holds. Before authentication nothing is told: a call about orders is `unknown`
 * then, because a charged customer's kiosk may have lost its session.
 */
export function chargedOfAsked(
  request: FastifyRequest,
  error: AppError,
  orders: Known,
): Charged | undefined {
  const { role, routeOptions } = request;
  const { call } = routeOptions.config;
  if (role === null) return call && isAboutOrders(call) ? "unknown" : undefined;
  const { gatewayId, ordersOf } = call ?? {};
  const orderId = error.orderId ?? namedOrder(request, orders);
  const asked = orderId === undefined ? ordersOf?.(request.body) : [orderId];
  const charged = chargedOfAll(asked ?? [], orders);
  // The gateway's id says of which order it is only when the supervisor has told.
  const byGatewayId = gatewayId !== undefined && member(request[gatewayId.in], gatewayId.name);
  return charged ?? (byGatewayId ? "unknown" : undefined);
}

function isAboutOrders({ path, body, idOf, gatewayId, ordersOf }: AnyCall): boolean {
  const { shape = {} } = (body ?? {}) as { readonly shape?: object };
  const named = path.includes("{orderId}") || "orderId" in shape;
  return named || idOf !== undefined || gatewayId !== undefined || ordersOf !== undefined;
}

/** Of several orders one word, where it is that of all of them. */
function chargedOfAll(orderIds: readonly string[], orders: Known): Charged | undefined {
  const [first, ...others] = orderIds;
  if (first === undefined) return undefined;
  const word = orders.chargedOf(first);
  return others.every((one) => orders.chargedOf(one) === word) ? word : "unknown";
}

function namedOrder(request: FastifyRequest, orders: Known): string | undefined {
  const { params, body, routeOptions } = request;
  const named = member(params, "orderId") ?? member(body, "orderId");
  const id = named ?? member(params, "id");
  return routeOptions.config.call?.idOf === "transaction" && id !== undefined
    ? orders.orderOfTransaction(id)
    : id;
}

/** A text of a request that may not have been checked. */
function member(of: unknown, name: string): string | undefined {
  const value = (of as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === "string" ? value : undefined;
}

/** Another order in the details of an error carries its own word. */
export function detailsOf({ details }: AppError, orders: Known): AppError["details"] {
  const { orderId } = details ?? {};
  if (typeof orderId !== "string") return details;
  return { ...details, charged: orders.chargedOf(orderId) ?? "unknown" };
}
