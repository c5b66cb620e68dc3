import { Ajv2020 } from "ajv/dist/2020.js";
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

/** An answer as it was sent. */
interface SentAnswer {
  readonly method: string;
  /** With or without a query. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** The call of the document that a request is for; undefined when there is none. */
export function documentedCall(method: string, url: string): readonly [string, string] | undefined {
  const path = url.split("?")[0] ?? "";
  const template = Object.keys(document.paths).find((known) =>
    new RegExp(`^${known.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  const verb = method.toLowerCase();
  if (template === undefined || !document.paths[template]?.[verb]) return undefined;
  return [template, verb];
}

/** Why an answer is not one that the document describes for its call; undefined when it is. */
export function nonconformityOf(answer: SentAnswer): string | undefined {
  const { method, url, status, contentType, text } = answer;
  const who = `${method} ${url} ${status}`;
  // A call that does not exist is described by every other: 404 and 405.
  const [path, verb] = documentedCall(method, url) ?? ["/version", "get"];
  const response = document.paths[path]?.[verb]?.responses[String(status)];
  if (!response) return `${who} is not documented: ${text}`;
  const type = contentType.split(";")[0] ?? "";
  if (!Object.hasOwn(response.content ?? {}, type)) return `${who} is of the type ${type}`;
  if (type !== "application/json" || method === "HEAD") return undefined;
  const where = ["paths", path, verb, "responses", String(status), "content", type, "schema"];
  const faults = faultsOf(where, JSON.parse(text));
  return faults.length === 0 ? undefined : `${who}: ${text}\n${JSON.stringify(faults, null, 1)}`;
}
