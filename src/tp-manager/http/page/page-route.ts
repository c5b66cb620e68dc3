import type { FastifyInstance } from "fastify";
import { loadOperatorPage } from "./operator-page.ts";

/** `GET /`: the operator's page. Everything it shows comes from the other calls. */
export function installPageRoute(app: FastifyInstance): void {
  const { html, policy } = loadOperatorPage();
  app.get("/", (_call, reply) =>
    reply.header("content-security-policy", policy).type("text/html; charset=utf-8").send(html),
  );
}
