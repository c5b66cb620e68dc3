import type { FastifyInstance, FastifyReply } from "fastify";
import { transaction } from "../../../shared/store/sqlite.ts";
import { bodyBytes } from "../http/app.ts";
import type { Order } from "../orders/order.ts";
import type { SandboxParts } from "../parts.ts";
import { maskStored } from "../soap/parameters.ts";
import { style } from "./html.ts";
import {
  checkEntry,
  missingPage,
  type PageContext,
  paymentPage,
  type Retry,
} from "./payment-page.ts";
import { paymentWith } from "./test-cards.ts";

type ByPage = { Params: { page: string } };

/**
 * Style sheets and logos come from the merchant over https; scripts from nowhere. Merchants may
 * show the page in a frame (field method, value iframe).
 */
const pagePolicy =
  "default-src 'none'; style-src 'self' https:; img-src https:; form-action 'self'; " +
  "base-uri 'none'";

/** Adds the payment page that redirectUrl leads to: the form, then the outcome. */
export function pageRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get("/sandbox/style.css", (_request, reply) =>
    reply.type("text/css; charset=utf-8").header("cache-control", "max-age=3600").send(style),
  );
  app.get<ByPage>("/index/ws/id/:page", (request, reply) => {
    const order = parts.orders.byPageId(request.params.page);
    return order ? show(reply, parts, order) : send(reply.code(404), missingPage());
  });
  app.post<ByPage>("/index/ws/id/:page", (request, reply) => {
    const order = parts.orders.byPageId(request.params.page);
    if (!order) return send(reply.code(404), missingPage());
    const form = new URLSearchParams(bodyBytes(request).toString("utf8"));
    const retry = order.state === "created" ? settle(form, order, parts) : undefined;
    if (retry) return show(reply.code(422), parts, order, retry);
    return reply.redirect(request.url, 303);
  });
}

function show(
  reply: FastifyReply,
  { accounts, clock }: SandboxParts,
  order: Order,
  retry?: Retry,
): FastifyReply {
  const context: PageContext = {
    order,
    website: accounts
      .find(({ login }) => login === order.login)
      ?.websites.find(({ id }) => id === order.websiteId),
    year: new Date(clock.now()).getUTCFullYear(),
  };
  return send(reply, paymentPage(context, retry));
}

function send(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .header("cache-control", "no-store")
    .header("content-security-policy", pagePolicy)
    .header("referrer-policy", "same-origin")
    .send(page);
}

/** Pays, declines or aborts the order; returns what to correct if the form is not complete. */
function settle(form: URLSearchParams, order: Order, parts: SandboxParts): Retry | undefined {
  const { database, ledger, clock } = parts;
  if (form.get("action") === "abort") {
    transaction(database, () => ledger.demand(order, { kind: "abort" }));
    return undefined;
  }
  const checked = checkEntry(form, clock.now());
  if ("fault" in checked) return checked;
  const { entry, card } = checked;
  const payment = paymentWith(card, {
    customerEmail: maskStored(entry.email),
    customerCountry: entry.country,
  });
  transaction(database, () =>
    card.approved ? ledger.accept(order, payment) : ledger.decline(order, payment),
  );
  return undefined;
}
