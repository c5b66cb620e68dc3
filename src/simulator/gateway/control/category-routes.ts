import type { FastifyInstance } from "fastify";
import type { SandboxParts } from "../parts.ts";
import { xml, xmlDocument } from "../xml/write-xml.ts";

/** docs/design.md 12.10, field categoryId; shape: docs/gateway.md 2.8. */
export function categoryRoutes(app: FastifyInstance, { accounts }: SandboxParts): void {
  app.get<{ Params: { website: string } }>(
    "/order/list-categories/id/:website",
    (request, reply) => {
      const website = accounts
        .flatMap(({ websites }) => websites)
        .find(({ id }) => String(id) === request.params.website);
      const content = website
        ? xml(
            "categoriesList",
            website.categories.map(({ id, label }) => xml("category", label, { id: String(id) })),
          )
        : xml("result", [xml("status", "error"), xml("message", "website not found")]);
      return reply.type("text/xml; charset=utf-8").send(`${xmlDocument(xml("mapi", [content]))}\n`);
    },
  );
}
