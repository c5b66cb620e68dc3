import { createServer as createTlsServer } from "node:https";
import fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from "fastify";
import type { z } from "zod";
import { createServer, PAGE_HEADER_BYTES_MAX } from "../../../shared/process/node-http.ts";
import { faultEnvelope } from "../soap/xml.ts";

const HOST = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/;

/** Returns scheme and host of a request, for addresses that the client can reach. */
export function baseUrlOf({ protocol, headers, raw }: FastifyRequest): string {
  const host = headers.host ?? "";
  const { localAddress = "127.0.0.1", localPort = 0 } = raw.socket;
  const own = `${localAddress.includes(":") ? `[${localAddress}]` : localAddress}:${localPort}`;
  return `${protocol}://${HOST.test(host) ? host : own}`;
}

export function bodyBytes({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** A request that is refused with an HTTP status; the message says what would be right. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** Returns the checked JSON body. Throws {@link RequestRefused} with every fault of the body. */
export function jsonBody<T>(request: FastifyRequest, schema: z.ZodType<T>): T {
  const checked = schema.safeParse(parseJson(bodyBytes(request)));
  if (checked.success) return checked.data;
  throw new RequestRefused(400, describeIssues(checked.error));
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new RequestRefused(400, "the body is not JSON");
  }
}

export function describeIssues({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message))
    .join("; ");
}

/** The largest body that is read; an order with a full cart has less than 100 KiB. */
const BODY_BYTES_MAX = 256 * 1024;

const heads = { maxHeaderSize: PAGE_HEADER_BYTES_MAX };

export interface Tls {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
}

/**
 * Returns the HTTP server without its routes. A request's body is bytes, whatever its type, and
 * every failure is answered. `report` gets the failures of the sandbox itself.
 */
export function createApp(tls: Tls | undefined, report: (error: Error) => void): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_BYTES_MAX,
    forceCloseConnections: true,
    routerOptions: { ignoreTrailingSlash: true },
    serverFactory: (handler) =>
      (tls
        ? createTlsServer({ ...heads, ...tls }, handler)
        : createServer(heads, handler)) as ReturnType<typeof createServer>,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => {
    done(null, body);
  });
  app.addHook("onRequest", (request, _reply, done) => {
    if (!isForeignWrite(request)) return done();
    done(new RequestRefused(403, "requests from pages of another origin are refused"));
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status === 500) report(error);
    const message = status === 500 ? "internal fault of the sandbox" : error.message;
    if (!request.url.startsWith("/soap/")) return reply.code(status).send({ error: message });
    return reply
      .code(status)
      .type("text/xml; charset=utf-8")
      .send(faultEnvelope(status === 500 ? "Server" : "Client", message));
  });
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ error: `${request.method} ${request.url} does not exist` }),
  );
  return app;
}

/** Returns whether a web page of another origin has sent a request that changes something. */
function isForeignWrite({ method, headers }: FastifyRequest): boolean {
  if (method === "GET" || method === "HEAD") return false;
  const { origin, host } = headers;
  if (headers["sec-fetch-site"] === "cross-site") return true;
  return typeof origin === "string" && URL.parse(origin)?.host !== host;
}
