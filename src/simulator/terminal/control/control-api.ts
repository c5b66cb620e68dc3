import { readFileSync } from "node:fs";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { z } from "zod";
import { PAGE_HEADER_BYTES_MAX } from "../../../shared/process/node-http.ts";
import { pageFile } from "../../../shared/process/page-packages.ts";
import { ValueError } from "../../switch-table.ts";
import { testCards } from "../bank/cards.ts";
import { type CustomerAction, customerActions } from "../cardholder.ts";
import { NotNow } from "../machine.ts";
import pageTexts from "../page/texts.json" with { type: "json" };
import texts from "../texts.json" with { type: "json" };
import { arm, type Controlled, disarm, faultsHere, hands, say } from "./hands.ts";

const BODY_BYTES_MAX = 64 * 1024;
const UNREAD_BYTES_MAX = 16 * 1024 * 1024;
const TRACE_EVENTS_DEFAULT = 200;

/** The published path for the actions of a person at the terminal, which the code calls hands. */
const HANDS = "/words";
const NAME = "word";

/** Starts the control API of a running simulator, on 127.0.0.1 only. */
export async function startControlApi(port: number, simulator: Controlled) {
  const server = Fastify({
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: true,
    http: { maxHeaderSize: PAGE_HEADER_BYTES_MAX },
  });
  guardAnswers(server);
  refuseCrossOriginRequests(server);
  server.setErrorHandler((error, _request, reply) => {
    const refused = error instanceof ValueError || error instanceof z.ZodError;
    const message = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
    const status = refused ? 400 : ((error as { statusCode?: number }).statusCode ?? 500);
    void reply.code(status).send({ error: message });
  });
  server.get("/", (request, reply) => {
    void reply.header("vary", "accept");
    const forPeople = /\btext\/html\b/.test(request.headers.accept ?? "");
    if (!forPeople) return { ...texts.routes, ...simulator.terminal.routes };
    return reply.type("text/html; charset=utf-8").send(readFileSync(own("terminal.html")));
  });
  pageRoutes(server);
  handRoutes(server, simulator);
  readingRoutes(server, simulator);
  faultRoutes(server, simulator);
  actingRoutes(server, simulator);
  stateRoute(server, simulator);
  simulator.terminal.addRoutes(server);
  const url = await server.listen({ host: "127.0.0.1", port });
  return { url, close: () => server.close() };
}

function readingRoutes(server: FastifyInstance, simulator: Controlled): void {
  const { ledger, memory, terminal } = simulator;
  const { parts, trace } = terminal;
  server.get("/ledger", () => ({ entries: ledger.entries, charged: ledger.charged }));
  server.get("/state", () => ({
    ...terminal.state(),
    protocol: simulator.protocol.name,
    condition: terminal.condition,
    ...simulator.supply,
    screen: parts.screen.read(simulator.options.behaviour.language),
    waitsForCustomer: parts.customer.wanted !== null,
    wants: parts.customer.wanted,
    customer: parts.customer.plays,
    outOfOrder: parts.outOfOrder,
    paperOut: parts.paperOut,
    busy: parts.busy,
    swapped: parts.swapped,
    demands: memory.demands,
    last: memory.last ?? null,
    turnover: memory.turnover,
    nextReceiptNumber: memory.nextReceiptNumber,
    nextRestart: parts.nextRestart?.toISOString() ?? null,
    ...terminal.toggles,
    endpoints: simulator.endpoints,
  }));
  server.get("/cards", () =>
    Object.values(testCards).map(({ name, scheme, technology, holderCheck, maskedDigits }) => ({
      name,
      scheme,
      technology,
      holderCheck,
      ending: maskedDigits.slice(-4),
    })),
  );
  const last = z.coerce.number().int().min(0).default(TRACE_EVENTS_DEFAULT);
  const traceQuery = z.object({ last });
  server.get("/trace", ({ query }) => ({ events: trace.last(traceQuery.parse(query).last) }));
  server.get("/events", (_request, reply) => {
    reply.hijack();
    const { raw } = reply;
    const guards = reply.getHeaders() as Record<string, string>;
    raw.writeHead(200, { ...guards, "content-type": "application/x-ndjson" });
    raw.flushHeaders();
    const unsubscribe = trace.subscribe((event) => {
      raw.write(`${JSON.stringify(event)}\n`);
      // A client that no longer reads is disconnected, so that its events do not fill the memory.
      if (raw.writableLength > UNREAD_BYTES_MAX) raw.destroy();
    });
    raw.once("close", unsubscribe);
  });
}

function faultRoutes(server: FastifyInstance, simulator: Controlled): void {
  const body = z.looseObject({ name: z.string() });
  const { faults, terminal } = simulator;
  server.get("/faults", () => {
    return { armed: faults.armed, holds: terminal.parts.isHeld, ...faultsHere(simulator) };
  });
  server.post("/faults", (request) => {
    const { name, ...given } = body.parse(request.body);
    return arm(simulator, name, given);
  });
  server.delete("/faults", () => ({ disarmed: disarm(simulator) }));
}

function handRoutes(server: FastifyInstance, simulator: Controlled): void {
  server.get(HANDS, () =>
    Object.entries(hands).map(([name, { takes = "" }]) => {
      return { [NAME]: name, takes, help: texts.hands[name as keyof typeof hands] };
    }),
  );
  const body = z.looseObject({ [NAME]: z.string() });
  const text = z.record(z.string(), z.coerce.string());
  server.post(HANDS, async (request) => {
    const { [NAME]: name, ...asked } = body.parse(request.body);
    await say(simulator, name, text.parse(asked));
    return { done: name };
  });
}

function actingRoutes(server: FastifyInstance, simulator: Controlled): void {
  const { parts } = simulator.terminal;
  server.post("/customer", (request) => {
    const acted = parts.customer.act(customerActions.parse(request.body) as CustomerAction);
    if (!acted) throw new NotNow("the terminal is not waiting for that");
    return { acted };
  });
  server.post("/reboot", () => {
    simulator.reboot();
    return { rebooting: true };
  });
  const memory = z.strictObject({
    action: z.enum(["close", "clear"]),
    nextReceiptNumber: z.number().int().min(1).max(9_999).optional(),
  });
  server.post("/memory", (request) => {
    const { action, nextReceiptNumber } = memory.parse(request.body);
    if (action === "close") simulator.memory.closeTurnover();
    else simulator.memory.clear();
    if (nextReceiptNumber !== undefined) simulator.memory.set({ nextReceiptNumber });
    return { nextReceiptNumber: simulator.memory.nextReceiptNumber };
  });
  const unplug = z.strictObject({ ms: z.number().int().min(0).default(0) });
  server.post("/unplug", async (request) => {
    await simulator.unplug(unplug.parse(request.body ?? {}).ms);
    return { unplugged: true };
  });
}

function stateRoute(server: FastifyInstance, { memory, protocol, terminal }: Controlled): void {
  const { parts, toggles } = terminal;
  const toggled = Object.keys(toggles).map((name) => [name, z.boolean().optional()] as const);
  const state = z.strictObject({
    outOfOrder: z.boolean().optional(),
    demand: z.partialRecord(z.enum(protocol.demands), z.boolean()).optional(),
    restartAt: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/, "not HH:MM")
      .nullish(),
    ...Object.fromEntries(toggled),
  });
  server.post("/state", (request) => {
    const { outOfOrder, demand = {}, restartAt, ...others } = state.parse(request.body);
    if (restartAt !== undefined) parts.restartAt = restartAt;
    if (outOfOrder !== undefined) parts.outOfOrder = outOfOrder;
    Object.assign(toggles, others);
    for (const [name, due] of Object.entries(demand)) memory.demand(name, due ?? false);
    return {
      outOfOrder: parts.outOfOrder,
      demands: memory.demands,
      restartAt: parts.restartAt,
      ...toggles,
    };
  });
}

/** The page's content security policy: only own files, only calls of this API, no inline script. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** The loader of texts is the console's: both pages choose their language in one way. */
function own(name: string): string {
  const folder = name === "texts.js" ? "tp-manager/console/pages" : "simulator/terminal/page";
  return pageFile(`${folder}/${name}`);
}

const scripts = "terminal device bench wire link language texts vendor/htm-preact";
const pageFiles = ["terminal.css", ...scripts.split(" ").map((name) => `${name}.js`)];

function pageRoutes(server: FastifyInstance): void {
  for (const [language, ofPage] of Object.entries(pageTexts)) {
    server.get(`/texts/${language}.json`, () => ofPage);
  }
  for (const name of pageFiles) {
    const type = name.endsWith(".css") ? "text/css" : "text/javascript";
    server.get(`/page/${name}`, (_request, reply) =>
      reply.type(`${type}; charset=utf-8`).send(readFileSync(own(name))),
    );
  }
}

/** Keeps pages of other origins from storing, framing or reading any answer, even a refusal. */
function guardAnswers(server: FastifyInstance): void {
  server.addHook("onRequest", (_request, reply, done) => {
    void reply.headers({
      "cache-control": "no-store",
      "content-security-policy": policy,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    done();
  });
}

/** The values of Sec-Fetch-Site with which our own page calls; only browsers send this header. */
const ownSites = new Set(["same-origin", "none"]);

/** Refuses calls of other web pages, which can only link to ours, and requests to other hosts. */
function refuseCrossOriginRequests(server: FastifyInstance): void {
  server.addHook("onRequest", async (request, reply) => {
    const isLocal = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? "");
    if (isLocal && (isOwn(request) || opensPage(request))) return;
    await reply.code(403).send({ error: "only local programs and this page may use this" });
  });
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
