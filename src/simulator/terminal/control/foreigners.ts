import type { FastifyInstance, FastifyRequest } from "fastify";

/** Sent by browsers with every request; programs send none of these. */
const ownSites = new Set(["same-origin", "none"]);

/**
 * No other web page may play here: neither through a foreign name of this host nor across origins.
 * The one thing that a link on another page may do is to open our own page.
 */
export function refuseForeigners(server: FastifyInstance): void {
  server.addHook("onRequest", async (request, reply) => {
    if (isLocal(request) && (isOwn(request) || opensPage(request))) return;
    await reply.code(403).send({ error: "only local programs and this page may use this" });
  });
}

function isLocal({ headers }: FastifyRequest): boolean {
  return /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(headers.host ?? "");
}

function isOwn({ headers }: FastifyRequest): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  const from = origin === undefined || origin === `http://${headers.host}`;
  return from && (site === undefined || ownSites.has(String(site)));
}

function opensPage({ headers, method, url }: FastifyRequest): boolean {
  const { "sec-fetch-mode": mode, "sec-fetch-dest": destination } = headers;
  return method === "GET" && url === "/" && mode === "navigate" && destination === "document";
}
