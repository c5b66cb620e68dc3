import basicAuth from "@fastify/basic-auth";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { Connections } from "../../shared/connections.ts";
import { AppError } from "../../shared/errors.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { TerminalDesk } from "../desk/terminal-desk.ts";
import type { AfterSale } from "../orders/after-sale.ts";
import type { Orders, PaymentResult } from "../orders/orders.ts";
import type { SettlementWord } from "../orders/settlement.ts";
import type { GatewayDesk } from "../supervisor/gateway-desk.ts";
import type { SupervisorLink } from "../supervisor/supervisor-link.ts";
import type { TerminalView } from "../terminal/terminal.ts";
import { installAfterSaleRoutes } from "./calls/after-sale-routes.ts";
import { installGatewayRoutes } from "./calls/gateway-routes.ts";
import { installJournalRoutes } from "./calls/journal-routes.ts";
import { installMaintenanceRoutes } from "./calls/maintenance-routes.ts";
import { installOutboxRoutes } from "./calls/outbox-routes.ts";
import { installPaymentRoutes } from "./calls/payment-routes.ts";
import { installStatusRoutes } from "./calls/status-routes.ts";
import { installTerminalRoutes } from "./calls/terminal-routes.ts";
import { installUnexpectedRoutes } from "./calls/unexpected-routes.ts";
import { Credentials, type Pair, type Role } from "./credentials.ts";
import { installErrorAnswers, sendError } from "./envelope.ts";
import { installEventRoutes } from "./events/event-routes.ts";
import { FailureDelay } from "./failure-delay.ts";
import { isActing, isAllowedOrigin, isLoopbackHost } from "./origin-check.ts";
import { installPageRoute } from "./page/page-route.ts";
import { readBody } from "./request-body.ts";
import { allowedMethods, hintFor } from "./route-table.ts";
import {
  arrivalLimits,
  CONNECTIONS_MAX,
  harden,
  refuseUnparsed,
  serverOptions,
} from "./server-limits.ts";
import type { Monitor } from "./status/monitor.ts";

export interface ApiOptions {
  readonly port: number;
  readonly kiosk: Pair;
  readonly operator: Pair | undefined;
  readonly allowedOrigins: readonly string[];
  readonly defaultCurrency: string;
  readonly orders: Orders;
  readonly desk: Pick<TerminalDesk, "turn" | "gate" | "cancel" | "check" | "upkeep">;
  readonly afterSale: AfterSale;
  readonly settle: (word: SettlementWord) => Promise<PaymentResult>;
  readonly terminal: TerminalView;
  readonly monitor: Monitor;
  readonly supervisor: SupervisorLink;
  readonly gateway: GatewayDesk;
  readonly clock: Clock;
  readonly log: Logger;
  readonly requestStop: (why: string) => void;
}

const BODY_BYTES_MAX = 64 * 1024;
const PATH_PARAMETER_MAX = 300;

/** Nothing this API answers may be kept, framed, guessed at or read by another site. */
const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

declare module "fastify" {
  interface FastifyRequest {
    role: Role;
  }
  interface FastifyInstance {
    /** Those of every address it listens on. */
    connections: Connections;
  }
}

/** The local API without a port: everything that `inject` can test. */
export async function createApi(options: ApiOptions): Promise<FastifyInstance> {
  const connections = new Connections({ total: CONNECTIONS_MAX });
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    ...arrivalLimits,
    routerOptions: { maxParamLength: PATH_PARAMETER_MAX },
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    http: serverOptions,
    clientErrorHandler: (error, socket) => refuseUnparsed(connections, error, socket),
    // A path that cannot be decoded comes before the hooks: it must not tell more than others.
    frameworkErrors: (_error, _request, reply) => {
      void reply.headers(securityHeaders);
      sendError(reply, new AppError("REQUEST_INVALID", "The path is not one of this API."));
    },
  });
  app.decorate("connections", connections);
  harden(app.server, connections);
  installErrorAnswers(app, options.log);
  installBodyParser(app);
  await installAccess(app, options);
  app.setNotFoundHandler((request, reply) => {
    const methods = allowedMethods(request.url);
    if (methods.length === 0) throw new AppError("NOT_FOUND", hintFor(request.url));
    void reply.header("allow", methods.join(", "));
    throw new AppError("METHOD_NOT_ALLOWED");
  });
  installStatusRoutes(app, options);
  installEventRoutes(app, options);
  installPageRoute(app);
  installPaymentRoutes(app, options);
  installAfterSaleRoutes(app, options);
  installJournalRoutes(app, options);
  installUnexpectedRoutes(app, options);
  installMaintenanceRoutes(app, options);
  installOutboxRoutes(app, options);
  installGatewayRoutes(app, options);
  installTerminalRoutes(app, options);
  return app;
}

/** Numbers keep their text (json-body.ts); anything but JSON is refused by the framework. */
function installBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const { "content-type": type, "content-encoding": encoding } = request.headers;
    if (body.length === 0) return done(null, undefined);
    try {
      done(null, readBody(body as Buffer, type, encoding));
    } catch (error) {
      done(error as Error);
    }
  });
}

async function installAccess(app: FastifyInstance, options: ApiOptions): Promise<void> {
  const credentials = new Credentials(options.kiosk, options.operator);
  const delay = new FailureDelay(options.clock);
  await app.register(basicAuth, {
    authenticate: { realm: "terminal" },
    async validate(login, password, request, reply) {
      const role = credentials.roleOf(login, password);
      if (!role) return await refuseLogin(delay, login, reply);
      app.connections.trust(request.raw.socket);
      request.role = role;
    },
  });
  app.decorateRequest("role", "kiosk");
  app.addHook("onRequest", (request, reply, done) => {
    void reply.headers(securityHeaders);
    checkPlace(request, reply, options);
    done();
  });
  // Many programs name a type for the body that they do not send with POST /cancel.
  app.addHook("onRequest", ({ raw: { headers } }, _reply, done) => {
    const isEmpty = headers["content-length"] === "0" && !headers["transfer-encoding"];
    if (isEmpty) delete headers["content-type"];
    done();
  });
  app.addHook("onRequest", (request, reply, done) => {
    if (isPreflight(request)) {
      void reply.code(204).send();
      return;
    }
    app.basicAuth(request, reply, done);
  });
}

/** Later and later; when too many wait at once, and end their connections. */
async function refuseLogin(
  delay: FailureDelay,
  login: string,
  reply: FastifyReply,
): Promise<never> {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  if (await delay.wait(login, gone.signal)) throw new AppError("UNAUTHORIZED");
  void reply.headers({ "retry-after": "5", connection: "close" });
  throw new AppError("TOO_MANY_FAILURES");
}

/** Refuses what does not come from this machine's own programs and listed pages. */
function checkPlace(request: FastifyRequest, reply: FastifyReply, options: ApiOptions): void {
  const { host, origin } = request.headers;
  if (isAmbiguous(request) || !isLoopbackHost(host, options.port))
    throw new AppError("HOST_REFUSED");
  const headers = {
    host,
    origin,
    secFetchSite: request.headers["sec-fetch-site"]?.toString(),
    secPurpose: request.headers["sec-purpose"]?.toString(),
  };
  const acting = isActing(request.method, request.routeOptions.url);
  if (!isAllowedOrigin(headers, options.allowedOrigins, acting)) {
    throw new AppError("ORIGIN_REFUSED");
  }
  if (origin === undefined || !options.allowedOrigins.includes(origin)) return;
  void reply.headers({
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "idempotent-replay, next-cursor",
    vary: "origin",
  });
  if (!isPreflight(request)) return;
  void reply.headers({
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "authorization, content-type, last-event-id",
    "access-control-max-age": "600",
  });
  if (request.headers["access-control-request-private-network"] === "true") {
    void reply.header("access-control-allow-private-network", "true");
  }
}

/** Headers that decide who may come in must be there once: node keeps the first, others may not. */
function isAmbiguous({ raw }: FastifyRequest): boolean {
  const names = raw.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  return ["host", "origin", "authorization", "sec-fetch-site"].some(
    (single) => names.indexOf(single) !== names.lastIndexOf(single),
  );
}

/** Only reached for listed origins: others are refused before. */
function isPreflight({ method, headers }: FastifyRequest): boolean {
  return (
    method === "OPTIONS" &&
    headers.origin !== undefined &&
    headers["access-control-request-method"] !== undefined
  );
}
