import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Account, accountOf, sameSecret } from "../account.ts";
import type { Order } from "../orders/order.ts";
import type { SandboxParts } from "../parts.ts";
import { xml, xmlDocument } from "../soap/xml.ts";
import { orderIdOf, orderObject, transactionView } from "./transaction-view.ts";

/** The published errors of the v3 API (docs/gateway.md 4.5). */
const errors = {
  credentials: { status: 401, code: 1_000_001, message: "Incorrect Credentials" },
  parameter: { status: 400, code: 1_010_201, message: "Invalid Parameter" },
  order: { status: 404, code: 3_000_001, message: "Unknown Order" },
  transaction: { status: 404, code: 3_000_002, message: "Unknown Transaction" },
} as const;

/**
 * Adds GET /v3/transaction(s)/{id} and /v3/order(s)/{id}, because the gateway's documents disagree:
 * the page about events has the plural addresses, the published API the singular ones.
 */
export function lookupRoutes(root: FastifyInstance, parts: SandboxParts): void {
  // The hook for faults applies only to the routes that are added inside this function.
  void root.register((app, _options, done) => {
    addLookups(app, parts);
    done();
  });
}

function addLookups(app: FastifyInstance, parts: SandboxParts): void {
  const { orders } = parts;
  app.addHook("onRequest", async ({ url }, reply) => {
    const status = parts.faults.takeForLookup(/^\/v3\/(orders|transactions)\//.test(url));
    if (status !== undefined) await reply.code(status).send({ message: "sandbox fault" });
  });
  const route = <P extends object>(
    url: string,
    find: (account: Account, params: P) => object | keyof typeof errors,
  ): void => {
    app.get(url, (request, reply) => {
      const account = authenticated(request, parts.accounts);
      const found = account ? find(account, request.params as P) : "credentials";
      return typeof found === "string" ? fail(reply, found) : reply.send(found);
    });
  };
  for (const url of ["/v3/transaction/:id", "/v3/transactions/:id"]) {
    route<{ id: string }>(url, ({ login }, { id }) => {
      const order = orderOf(id, parts);
      if (order?.login !== login) return "transaction";
      return transactionView(order, orders.operations(order.id));
    });
  }
  route<{ type: string; value: string }>(
    "/v3/transactions/:type/:value",
    ({ login }, { type, value }) => {
      if (!["arn", "opid", "acquirerid"].includes(type)) return "parameter";
      const order = type === "acquirerid" ? orders.byPublicId(value.toUpperCase()) : undefined;
      const found = order?.login === login ? [order] : [];
      return { transactions: found.map((one) => transactionView(one, orders.operations(one.id))) };
    },
  );
  for (const url of ["/v3/order/:id", "/v3/orders/:id"]) {
    route<{ id: string }>(url, ({ login }, { id }) => {
      const order = orders.byReference(login, id);
      return order ? orderObject(order) : "order";
    });
  }
}

/** Adds the list of a website's categories (docs/design.md 12.10; docs/gateway.md 2.8). */
export function categoryRoutes(app: FastifyInstance, { accounts }: SandboxParts): void {
  app.get<{ Params: { website: string } }>(
    "/order/list-categories/id/:website",
    (request, reply) => {
      const website = accounts
        .flatMap(({ websites }) => websites)
        .find(({ id }) => String(id) === request.params.website);
      const content = website
        ? xml(
            "categoriesList",
            website.categories.map(({ id, label }) => xml("category", label, { id: String(id) })),
          )
        : xml("result", [xml("status", "error"), xml("message", "website not found")]);
      return reply.type("text/xml; charset=utf-8").send(`${xmlDocument(xml("mapi", [content]))}\n`);
    },
  );
}

/** Returns the order with this number, or with this transaction id of a notification. */
function orderOf(id: string, { orders }: SandboxParts): Order | undefined {
  const byNumber = /^\d{12,15}$/.test(id) ? orders.byId(orderIdOf(Number(id))) : undefined;
  return byNumber ?? orders.byPublicId(id.toUpperCase());
}

/** Returns the account that HTTP Basic or the header X-API-KEY names (docs/gateway.md 4.4). */
function authenticated({ headers }: FastifyRequest, accounts: readonly Account[]) {
  const key = headers["x-api-key"];
  if (typeof key === "string") {
    return accounts.find(({ apiKey }) => apiKey !== undefined && sameSecret(apiKey, key));
  }
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(headers.authorization ?? "")?.[1] ?? "";
  const [login = "", ...password] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return accountOf(accounts, login, password.join(":"));
}

function fail(reply: FastifyReply, error: keyof typeof errors): FastifyReply {
  const { status, code, message } = errors[error];
  if (status === 401) reply.header("www-authenticate", 'Basic realm="gateway"');
  return reply.code(status).send({ code, message, description: null, details: null });
}
