import { type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { AppError } from "../../shared/catalog/errors.ts";
import { Connections } from "../../shared/ipc/connections.ts";
import { readOr } from "../../shared/read-or.ts";
import { readBody } from "./body/json-body.ts";
import { type AnyCall, type CallContext, carryOut, methodsOf, pathsOf, type Role } from "./call.ts";
import { calls } from "./calls/calls.ts";
import { type AccessOptions, installAccess, securityHeaders } from "./door/access.ts";
import { apiLimits, harden, refuseUnparsed, type ServerLimits } from "./door/server-limits.ts";
import { sendError } from "./envelope.ts";
import { type About, installErrorAnswers } from "./error-answers.ts";
import { eventStreams } from "./events/event-streams.ts";
import { waitingReaders } from "./prefer.ts";
import type { Monitor } from "./status/monitor.ts";

export interface ApiOptions
  extends AccessOptions,
    Omit<CallContext, "events" | "readers" | "hasOperator"> {}

const BODY_BYTES_MAX = 64 * 1024;
const PATH_PARAMETER_MAX = 300;

/**
 * The compilers of JSON schemas. No call has such a schema, because zod checks the requests, so a
 * start does not load the packages with fastify's own compilers (docs/performance.md).
 */
const noSchemas = { buildValidator: refuseSchema, buildSerializer: refuseSchema };

function refuseSchema(): never {
  throw new Error("no call of the local API has a JSON schema");
}

declare module "fastify" {
  interface FastifyRequest {
    /** The role whose login the request carries; null before authentication. */
    role: Role | null;
    about: About | null;
    /** Who makes the request and why; null outside the console and where nothing is changed. */
    person: { readonly by: string; readonly reason: string } | null;
  }
  interface FastifyContextConfig {
    call?: AnyCall;
  }
  interface FastifyInstance {
    connections: Connections;
    limits: ServerLimits;
  }
}

/** Returns the local API as a server that does not listen yet. */
export async function createApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = createInstance(options, apiLimits);
  await installAccess(app, options);
  countAnswers(app, options.monitor);
  openCalls(app, options);
  return app;
}

/** Returns a server that reads bodies and answers errors like the API, but checks no login. */
export function createInstance(
  { orders, log }: Pick<ApiOptions, "orders" | "log">,
  limits: ServerLimits,
): FastifyInstance {
  const connections = new Connections({ total: limits.connections });
  const app: FastifyInstance = fastify({
    bodyLimit: BODY_BYTES_MAX,
    schemaController: { compilersFactory: noSchemas },
    routerOptions: { maxParamLength: PATH_PARAMETER_MAX },
    // Fastify would answer HEAD by running the handler of GET, which may change something.
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    http: limits.http,
    clientErrorHandler: (error, socket) => refuseUnparsed(connections, error, socket),
    // Fastify refuses an undecodable path before any hook runs, so no header is set yet.
    frameworkErrors: (_error, _request, reply) => {
      void reply.headers(securityHeaders);
      sendError(reply, new AppError("REQUEST_INVALID", "The path is not one of this API."));
    },
  });
  app.decorate("connections", connections);
  app.decorate("limits", limits);
  app.decorateRequest("role", null);
  app.decorateRequest("about", null);
  app.decorateRequest("person", null);
  harden(app.server, connections);
  installErrorAnswers(app, orders, log);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async ({ headers }: FastifyRequest, body: Buffer) =>
      body.length === 0 ? undefined : readBody(body, headers),
  );
  return app;
}

/** Adds every call of the API to the server, below `prefix`. Any other request gets an error. */
export function openCalls(
  app: FastifyInstance,
  options: ApiOptions,
  prefix = "",
  hasOperator = options.operator !== undefined,
): void {
  const { monitor, arbiter, clock, log } = options;
  const events = eventStreams(monitor, clock, log);
  const readers = waitingReaders(monitor.hub, clock, arbiter.lease.stopping);
  app.addHook("preClose", (done) => {
    events.end();
    done();
  });
  const context = { ...options, events, readers, hasOperator };
  for (const record of calls) {
    for (const path of pathsOf(record)) {
      app.route({
        method: methodsOf(record),
        url: prefix + path.replace(/\{(\w+)\}/g, ":$1"),
        config: { call: record },
        // The router takes an empty text for a parameter: what a URL keeps of the order id ".".
        handler: (request, reply) =>
          Object.values(request.params as object).includes("")
            ? reply.callNotFound()
            : carryOut(record, request, reply, context),
      });
    }
  }
  app.setNotFoundHandler((request, reply) => {
    const url = request.url.startsWith(prefix) ? request.url.slice(prefix.length) : request.url;
    const path = url.split("?")[0] ?? "";
    const methods = allowedMethods(path);
    if (methods.length > 0) void reply.header("allow", methods.join(", "));
    const error =
      methods.length > 0
        ? new AppError("METHOD_NOT_ALLOWED")
        : new AppError("NOT_FOUND", hintFor(path));
    error.orderId = orderIn(path);
    throw error;
  });
}

function countAnswers(app: FastifyInstance, { metrics }: Monitor): void {
  app.addHook("onResponse", ({ method, routeOptions }, reply, done) => {
    const { config, url = "none" } = routeOptions;
    // An event stream lasts until its reader leaves, and a lookup may wait: neither is measured.
    const hasWaited = String(reply.getHeader("preference-applied")).startsWith("wait");
    if (!config?.call?.streams && !hasWaited) {
      metrics.answered(method, url, reply.statusCode, reply.elapsedTime);
    }
    done();
  });
}

/** The paths of the API with their methods: a known path with another method is answered 405. */
const forms = calls.flatMap((record) =>
  pathsOf(record).map((path) => ({
    form: new RegExp(`^${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`),
    methods: methodsOf(record),
  })),
);

function allowedMethods(path: string): string[] {
  return forms.flatMap(({ form, methods }) => (form.test(path) ? methods : [])).toSorted();
}

/** Returns the order id in the path of a payment, even an id whose slash was not encoded. */
function orderIn(path: string): string | undefined {
  const named = /^\/payment\/(.+)/.exec(path)?.[1];
  return named && readOr(undefined, () => decodeURIComponent(named));
}

/** Returns a hint if a path only differs from a call in upper case or slashes, else undefined. */
function hintFor(path: string): string | undefined {
  const known = path
    .toLowerCase()
    .replace(/\/+/g, "/")
    .replace(/(.)\/$/, "$1");
  if (known === path || allowedMethods(known).length === 0) return undefined;
  return `The path must be in lower case without a slash at the end: ${known}`;
}
