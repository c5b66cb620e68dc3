import type { FastifyInstance } from "fastify";
import type { ApiOptions } from "../app.ts";
import { sendOne } from "../envelope.ts";
import { openApiDocument } from "../openapi/document.ts";

/** Readiness and figures, for people and for machines that watch. */
export function installStatusRoutes(app: FastifyInstance, { monitor, port }: ApiOptions): void {
  app.addHook("onResponse", (call, reply, done) => {
    const route = call.routeOptions.url ?? "none";
    // A stream lasts as long as its reader; that is no answer time.
    if (route !== "/events") {
      monitor.metrics.answered(call.method, route, reply.statusCode, reply.elapsedTime);
    }
    done();
  });

  app.get("/health", async (_call, reply) => {
    const health = await monitor.health();
    return sendOne(reply, health.status === "Ready" ? 200 : 503, health);
  });

  app.get("/metrics", async (_call, reply) => {
    const text = await monitor.metrics.text();
    return reply.type(monitor.metrics.registry.contentType).send(text);
  });

  let document: object | undefined;
  app.get("/openapi.json", (_call, reply) => {
    document ??= openApiDocument(port);
    return reply.send(document);
  });
}
