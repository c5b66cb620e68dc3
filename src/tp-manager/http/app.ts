import { type FastifyInstance, fastify } from "fastify";
import { AppError } from "../../shared/catalog/errors.ts";
import { Connections } from "../../shared/ipc/connections.ts";
import { readBody } from "./body/request-body.ts";
import type { CallContext } from "./call-context.ts";
import { type AccessOptions, installAccess, securityHeaders } from "./door/access.ts";
import type { Role } from "./door/credentials.ts";
import {
  apiLimits,
  arrivalLimits,
  harden,
  refuseUnparsed,
  type ServerLimits,
} from "./door/server-limits.ts";
import { sendError } from "./envelope.ts";
import { type About, installErrorAnswers } from "./error-answers.ts";
import { eventStreams } from "./events/event-streams.ts";
import { installCalls } from "./route-table.ts";
import type { Monitor } from "./status/monitor.ts";

export interface ApiOptions extends AccessOptions, Omit<CallContext, "events" | "hasOperator"> {}

const BODY_BYTES_MAX = 64 * 1024;
const PATH_PARAMETER_MAX = 300;

declare module "fastify" {
  interface FastifyRequest {
    /** null before authentication. */
    role: Role | null;
    about: About | null;
  }
  interface FastifyInstance {
    /** The connections of every address that the server listens on. */
    connections: Connections;
    limits: ServerLimits;
  }
}

/** Returns the local API without a port, so that tests call it by `inject`. */
export async function createApi(options: ApiOptions): Promise<FastifyInstance> {
  const app = createInstance(options, apiLimits);
  await installAccess(app, options);
  countAnswers(app, options.monitor);
  openCalls(app, options);
  return app;
}

/** Returns a server with the bodies and error answers of the API, which checks no caller. */
export function createInstance(
  { orders, log }: Pick<ApiOptions, "orders" | "log">,
  limits: ServerLimits,
): FastifyInstance {
  const connections = new Connections({ total: limits.connections });
  const app: FastifyInstance = fastify({
    bodyLimit: BODY_BYTES_MAX,
    ...arrivalLimits,
    routerOptions: { maxParamLength: PATH_PARAMETER_MAX },
    // The framework would answer HEAD by calling the GET, which may change something.
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    http: limits.http,
    clientErrorHandler: (error, socket) => refuseUnparsed(connections, error, socket),
    // A path that cannot be decoded is refused before the hooks, so its headers are set here.
    frameworkErrors: (_error, _request, reply) => {
      void reply.headers(securityHeaders);
      sendError(reply, new AppError("REQUEST_INVALID", "The path is not one of this API."));
    },
  });
  app.decorate("connections", connections);
  app.decorate("limits", limits);
  app.decorateRequest("role", null);
  app.decorateRequest("about", null);
  harden(app.server, connections);
  installErrorAnswers(app, orders, log);
  installBodyParser(app);
  return app;
}

/** Opens every call of the API below `prefix`, with event streams that end with the server. */
export function openCalls(app: FastifyInstance, options: ApiOptions, prefix = ""): void {
  const events = eventStreams(options.monitor, options.clock, options.log);
  app.addHook("preClose", (done) => {
    events.end();
    done();
  });
  installCalls(app, { ...options, events, hasOperator: options.operator !== undefined }, prefix);
}

/** Installs the only parser, that of JSON, whose numbers keep their text (json-body.ts). */
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

function countAnswers(app: FastifyInstance, { metrics }: Monitor): void {
  app.addHook("onResponse", ({ method, routeOptions }, reply, done) => {
    // A stream lasts until its reader leaves, so its time is no answer time.
    if (!routeOptions.config?.call?.streams) {
      metrics.answered(method, routeOptions.url ?? "none", reply.statusCode, reply.elapsedTime);
    }
    done();
  });
}
