import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { faultSchema } from "../faults/fault.ts";
import { jsonBody, RequestRefused } from "../http/request.ts";
import { orderView } from "../orders/order-view.ts";
import type { SandboxParts } from "../parts.ts";

/** Ten thousand queued transactions are drained in tests; far more would only fill memory. */
const ORDERS_LISTED_MAX = 50_000;

const limitSchema = z.coerce.number().int().min(1).max(ORDERS_LISTED_MAX);

const faultsSchema = z.preprocess(
  (content) => (Array.isArray(content) ? content : [content]),
  z.array(faultSchema),
);

/** What tests and operators use, under /sandbox: no part of the gateway's own interface. */
export function controlRoutes(app: FastifyInstance, { orders, faults }: SandboxParts): void {
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
