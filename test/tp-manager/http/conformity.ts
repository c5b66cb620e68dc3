import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { openApiFile } from "../../../src/tp-manager/http/calls/program-calls.ts";

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, object>;
    readonly responses: Record<string, Response>;
  };
  readonly info: { readonly description: string; readonly version: string };
}

/**
 * As it is given to programs: an answer may have members that a later version adds. It takes
 * moments to read and a while to make; test/tidy/readme.test.ts compares the two.
 */
export const document = JSON.parse(readFileSync(openApiFile, "utf8")) as Document;

/** As this version answers: what is not described must not be there. */
const closed = closedObjects(document) as Document;

interface Operation {
  readonly operationId: string;
  readonly parameters?: ReadonlyArray<{
    readonly name: string;
    readonly in: string;
    readonly schema: object;
  }>;
  readonly requestBody?: { readonly required: boolean; readonly content: Record<string, Media> };
  readonly responses: Record<string, Response>;
}

interface Response {
  readonly $ref?: string;
  readonly content?: Record<string, Media>;
}

interface Media {
  readonly schema: object;
  readonly example?: unknown;
}

/** A schema checks few answers here: to compile it fast matters more than to run it fast. */
const ajv = new Ajv2020({
  strict: false,
  validateFormats: false,
  allErrors: true,
  inlineRefs: false,
  code: { optimize: false },
});
ajv.addSchema({ $id: "document", ...document });
ajv.addSchema({ $id: "closed", ...closed });

function closedObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedObjects);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [name, closedObjects(member)]);
  const schema = Object.fromEntries(entries);
  const isObject = schema["type"] === "object" && schema["properties"] !== undefined;
  if (isObject && schema["additionalProperties"] === undefined) {
    schema["additionalProperties"] = false;
  }
  return schema;
}

/** What keeps a value from being as a place of the document says; [] when nothing does. */
export function faultsOf(pointer: readonly string[], value: unknown, id = "document"): unknown[] {
  const path = pointer.map((part) =>
    encodeURIComponent(part.replace(/~/g, "~0").replace(/\//g, "~1")),
  );
  const validate = ajv.getSchema(`${id}#/${path.join("/")}`);
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
  // An answer to HEAD is that to GET without its body.
  const verb = method === "HEAD" ? "get" : method.toLowerCase();
  if (template === undefined || !document.paths[template]?.[verb]) return undefined;
  return [template, verb];
}

/** Why an answer is not one that the document describes for its call; undefined when it is. */
export function nonconformityOf(answer: SentAnswer): string | undefined {
  const { method, url, status, contentType, text } = answer;
  const who = `${method} ${url} ${status}`;
  // A call that does not exist is described by every other: 404 and 405.
  const [path, verb] = documentedCall(method, url) ?? ["/version", "get"];
  const where = schemaPathOf(path, verb, status);
  const response = where && responseAt(where);
  if (!where || !response) return `${who} is not documented: ${text}`;
  const type = contentType.split(";")[0] ?? "";
  if (!Object.hasOwn(response.content ?? {}, type)) return `${who} is of the type ${type}`;
  if (type !== "application/json" || method === "HEAD") return undefined;
  if (!text.endsWith("\n")) return `${who} does not end with a line feed`;
  const faults = faultsOf([...where, "content", type, "schema"], JSON.parse(text), "closed");
  return faults.length === 0 ? undefined : `${who}: ${text}\n${JSON.stringify(faults, null, 1)}`;
}

/** Where the document describes an answer. */
export function schemaPathOf(path: string, verb: string, status: number): string[] | undefined {
  const response = document.paths[path]?.[verb]?.responses[String(status)];
  if (response?.$ref !== undefined) return response.$ref.split("/").slice(1);
  return response && ["paths", path, verb, "responses", String(status)];
}

function responseAt(where: readonly string[]): Response {
  return where.reduce<unknown>(
    (at, name) => (at as Record<string, unknown>)[name],
    document,
  ) as Response;
}
