import type { FastifyInstance, FastifyReply } from "fastify";
import { z } from "zod";
import { faultSchema } from "../faults/fault.ts";
import { jsonBody, RequestRefused } from "../http/request.ts";
import type { Order } from "../orders/order.ts";
import { orderView } from "../orders/order-view.ts";
import { type OperatorRow, operatorPage } from "../pages/operator-page.ts";
import type { SandboxParts } from "../parts.ts";
import { demandRoutes } from "./demand-routes.ts";

/** Ten thousand queued transactions are drained in tests; far more would only fill memory. */
const ORDERS_LISTED_MAX = 50_000;

const limitSchema = z.coerce.number().int().min(1).max(ORDERS_LISTED_MAX);

const faultsSchema = z.preprocess(
  (content) => (Array.isArray(content) ? content : [content]),
  z.array(faultSchema),
);

const OPERATOR_ROWS = 50;
const NOTIFICATIONS_LISTED = 1_000;

const operatorPolicy =
  "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; " +
  "frame-ancestors 'none'";

/** The interface for tests and operators: / and /sandbox are no part of the gateway's own. */
export function controlRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const { orders, notifications, sender } = parts;
  const showOperatorPage = (reply: FastifyReply, problem?: string): FastifyReply => {
    const rows = orders.list(OPERATOR_ROWS).map((order) => detailsOf(order, parts));
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", operatorPolicy)
      .header("cache-control", "no-store")
      .send(operatorPage(rows, orders.count(), notifications.latest(OPERATOR_ROWS), problem));
  };
  app.get("/", (_request, reply) => showOperatorPage(reply));
  app.get<{ Querystring: { limit?: string; merchantReference?: string } }>(
    "/sandbox/orders",
    (request, reply) => {
      const limit = limitSchema.safeParse(request.query.limit ?? ORDERS_LISTED_MAX);
      if (!limit.success) {
        throw new RequestRefused(400, `limit must be a number from 1 to ${ORDERS_LISTED_MAX}`);
      }
      reply.header("x-total-count", String(orders.count()));
      return orders.list(limit.data, request.query.merchantReference).map(orderView);
    },
  );
  app.get<{ Params: { id: string } }>("/sandbox/orders/:id", (request) => {
    const order = orders.byPublicId(request.params.id.toUpperCase());
    if (!order) throw new RequestRefused(404, `there is no order ${request.params.id}`);
    const { order: _, ...details } = detailsOf(order, parts);
    return { ...orderView(order), ...details };
  });
  app.get("/sandbox/notifications", () => notifications.latest(NOTIFICATIONS_LISTED));
  app.post("/sandbox/notifications", () => {
    notifications.hasten();
    sender.kick();
    return notifications.latest(NOTIFICATIONS_LISTED);
  });
  demandRoutes(app, parts, showOperatorPage);
  faultRoutes(app, parts);
}

function detailsOf(order: Order, { orders, notifications }: SandboxParts): OperatorRow {
  return {
    order,
    operations: orders.operations(order.id),
    notifications: notifications.ofOrder(order.id),
  };
}

function faultRoutes(app: FastifyInstance, { faults }: SandboxParts): void {
  app.get("/sandbox/faults", () => faults.all);
  app.post("/sandbox/faults", (request) => {
    faults.add(...jsonBody(request, faultsSchema));
    return faults.all;
  });
  app.delete("/sandbox/faults", () => {
    faults.clear();
    return faults.all;
  });
}
