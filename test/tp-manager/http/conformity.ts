import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "vitest";
import { openApiDocument } from "../../../src/tp-manager/http/openapi/document.ts";

export const document = openApiDocument(8765) as unknown as {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
  readonly info: { readonly description: string };
};

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Record<string, Media> };
  readonly responses: Record<string, { readonly content?: Record<string, Media> }>;
}

interface Media {
  readonly schema: object;
  readonly example?: unknown;
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema({ $id: "document", ...document });

/** What keeps a value from being as a place of the document says; [] when nothing does. */
export function faultsOf(pointer: readonly string[], value: unknown): unknown[] {
  const path = pointer.map((part) =>
    encodeURIComponent(part.replace(/~/g, "~0").replace(/\//g, "~1")),
  );
  const validate = ajv.getSchema(`document#/${path.join("/")}`);
  if (!validate) throw new Error(`the document has no ${pointer.join(" ")}`);
  return validate(value) ? [] : (validate.errors ?? []);
}

/** Fails unless an answer of the API is one that the document describes for its call. */
export function expectConforming(
  method: string,
  url: string,
  status: number,
  contentType: string,
  body: unknown,
): void {
  const path = new URL(url, "http://localhost").pathname;
  const known = Object.keys(document.paths).find((template) =>
    new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  const operation = known === undefined ? undefined : document.paths[known]?.[method.toLowerCase()];
  // A call that does not exist is described by every other: 404 and 405.
  const [at, verb] = operation ? [known as string, method.toLowerCase()] : ["/version", "get"];
  const where = ["paths", at, verb, "responses", String(status)];
  const response = document.paths[at]?.[verb]?.responses[String(status)];
  expect(response, `${method} ${url} answered ${status}, which is not documented`).toBeDefined();
  const type = contentType.split(";")[0] ?? "";
  expect(Object.keys(response?.content ?? {}), `${method} ${url} ${status}`).toContain(type);
  if (type !== "application/json") return;
  const faults = faultsOf([...where, "content", type, "schema"], body);
  expect(faults, `${method} ${url} ${status}: ${JSON.stringify(body)}`).toEqual([]);
}
