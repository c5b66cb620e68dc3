import { createServer as createTlsServer } from "node:https";
import type { FastifyError, FastifyInstance } from "fastify";
import fastify from "fastify";
import { createServer, PAGE_HEADER_BYTES_MAX } from "../../../shared/process/node-http.ts";
import { faultEnvelope } from "../soap/envelope.ts";
import { RequestRefused } from "./request.ts";

/** A full cart with all its texts is below 100 KiB. */
const BODY_BYTES_MAX = 256 * 1024;

const heads = { maxHeaderSize: PAGE_HEADER_BYTES_MAX };

export interface Tls {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
}

/**
 * The HTTP server without its routes: every body is bytes, whatever its type, and every failure has
 * an answer. `report` gets what is a fault of the sandbox itself.
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
    done(isForeignWrite(request.method, request.headers) ? foreign() : undefined);
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

/** Pages of other origins must not press the sandbox's buttons. */
function isForeignWrite(
  method: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): boolean {
  if (method === "GET" || method === "HEAD") return false;
  const { origin, host } = headers;
  if (headers["sec-fetch-site"] === "cross-site") return true;
  return typeof origin === "string" && URL.parse(origin)?.host !== host;
}

function foreign(): RequestRefused {
  return new RequestRefused(403, "requests from pages of another origin are refused");
}
