import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { transaction } from "../../../shared/store/sqlite.ts";
import { faultSchema } from "../faults.ts";
import { bodyBytes, jsonBody, RequestRefused } from "../http/app.ts";
import { DemandRefused, type Order, orderView, parseAmount } from "../orders/order.ts";
import { languageOf } from "../pages/html.ts";
import { type OperatorRow, operatorPage } from "../pages/operator-page.ts";
import { autoPayment } from "../pages/test-cards.ts";
import type { SandboxParts } from "../parts.ts";

/** The most orders in one list: tests send ten thousand orders, and more would fill the memory. */
export const ORDERS_LISTED_MAX = 50_000;

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

/** Adds the routes for tests and operators, which only the sandbox has, not the real gateway. */
export function controlRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const { orders, notifications, sender, faults } = parts;
  const showOperatorPage = (reply: FastifyReply, problem?: string): FastifyReply => {
    const rows = orders.list(OPERATOR_ROWS).map((order) => detailsOf(order, parts));
    const latest = notifications.latest(OPERATOR_ROWS);
    const lang = languageOf(reply.request.headers["accept-language"]);
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", operatorPolicy)
      .header("cache-control", "no-store")
      .send(operatorPage(lang, rows, orders.count(), latest, problem));
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
  // A JSON request is answered with the order, a form with a redirect to the operator page.
  app.post<Target>("/sandbox/orders/:id/:action", (request, reply) => {
    if (!isForm(request)) return orderView(demanded(request, parts));
    try {
      demanded(request, parts);
      return reply.redirect("/", 303);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      const problem = `${request.params.action} refused: ${error.message}`;
      return showOperatorPage(reply.code(error.statusCode), problem);
    }
  });
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

function detailsOf(order: Order, { orders, notifications }: SandboxParts): OperatorRow {
  return {
    order,
    operations: orders.operations(order.id),
    notifications: notifications.ofOrder(order.id),
  };
}

type Action = (order: Order, parts: SandboxParts, amountMinor: number | undefined) => Order;

/** The changes that an operator can make to an order, by the last part of the request's path. */
const actions: Readonly<Record<string, Action>> = {
  wait: (order, { ledger }) => ledger.demand(order, { kind: "wait" }),
  pay: (order, { ledger }) => ledger.pay(order, order.card === "" ? autoPayment(order) : order),
  decline: (order, { ledger }) =>
    ledger.decline(order, order.card === "" ? autoPayment(order, false) : order),
  abort: (order, { ledger }) => ledger.demand(order, { kind: "abort" }),
  capture: (order, { ledger }, amountMinor) =>
    ledger.demand(order, { kind: "capture", amountMinor }),
  cancel: (order, { ledger }) => ledger.demand(order, { kind: "cancel" }),
  refund: (order, { ledger }, amountMinor) => ledger.demand(order, { kind: "refund", amountMinor }),
  chargeback: (order, { ledger }) => ledger.demand(order, { kind: "reject" }),
  fraud: (order, { ledger }) => ledger.reportFraud(order),
};

type Target = { Params: { id: string; action: string } };

/** Changes an order as a request demands. Throws {@link RequestRefused} with the reason. */
function demanded(request: FastifyRequest<Target>, parts: SandboxParts): Order {
  const { id, action } = request.params;
  const order = parts.orders.byPublicId(id.toUpperCase());
  const act = Object.hasOwn(actions, action) ? actions[action] : undefined;
  if (!order || !act) throw new RequestRefused(404, `there is no order ${id} or no ${action}`);
  const amountMinor = amountOf(request, order);
  try {
    return transaction(parts.database, () => act(order, parts, amountMinor));
  } catch (error) {
    if (!(error instanceof DemandRefused)) throw error;
    throw new RequestRefused(409, error.message);
  }
}

function isForm({ headers }: FastifyRequest): boolean {
  return /x-www-form-urlencoded/i.test(headers["content-type"] ?? "");
}

const demandSchema = z.strictObject({ amount: z.string().optional() });

/** Returns the amount that a request names in major units; undefined: the whole amount. */
function amountOf(request: FastifyRequest, { decimals }: Order): number | undefined {
  const bytes = bodyBytes(request);
  const form = (): string | null => new URLSearchParams(bytes.toString("utf8")).get("amount");
  const json = (): string | undefined =>
    bytes.length > 0 ? jsonBody(request, demandSchema).amount : undefined;
  const text = isForm(request) ? form()?.trim() : json();
  if (!text) return undefined;
  const amountMinor = parseAmount(text, decimals);
  if (amountMinor !== undefined && amountMinor > 0) return amountMinor;
  throw new RequestRefused(400, `amount must be a positive number like "9.99", not "${text}"`);
}
