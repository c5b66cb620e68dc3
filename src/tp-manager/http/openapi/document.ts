import { z } from "zod";
import { type ErrorCode, errorTable } from "../../../shared/errors.ts";
import { versionNumber } from "../../../shared/installation.ts";
import { eventTable } from "../../attempts/event-table.ts";
import * as answers from "./answers.ts";
import { documentedCalls } from "./calls.ts";
import type { DocumentedCall } from "./documented-call.ts";
import * as requests from "./requests.ts";

/** Faults that any call may answer. */
const always: readonly ErrorCode[] = [
  "REQUEST_INVALID",
  "UNAUTHORIZED",
  "HOST_REFUSED",
  "ORIGIN_REFUSED",
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "REQUEST_TOO_SLOW",
  "TOO_MANY_FAILURES",
  "HEADERS_TOO_LARGE",
  "INTERNAL",
  "STORAGE_FAILED",
];
/** A body is refused before the call is looked at. */
const withBody: readonly ErrorCode[] = ["BODY_NOT_JSON", "BODY_TOO_LARGE", "CONTENT_TYPE_REFUSED"];

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of the local API, made from the schemas. Pure. */
export function openApiDocument(port: number): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Unattended terminal connector: local API",
      version: versionNumber,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description:
        "Card payments for kiosks. Every JSON body is a list with one object, errors included; " +
        `/payments and /unexpected-reports list as many as there are.\n\n${errorsText()}`,
    },
    servers: [{ url: `http://localhost:${port}` }],
    security: [{ basic: [] }],
    paths: pathsOf(documentedCalls),
    components: {
      securitySchemes: { basic: { type: "http", scheme: "basic" } },
      schemas: components(),
    },
    "x-events": Object.fromEntries(
      Object.entries(eventTable).map(([name, { kept, meaning, data }]) => [
        name,
        { meaning, hasId: kept, data: inline(data.extend({ at: z.iso.datetime() })) },
      ]),
    ),
  };
}

function pathsOf(calls: readonly DocumentedCall[]): Json {
  const paths: Record<string, Json> = {};
  for (const call of calls) {
    const operations = call.methods.map((method) => [method, operation(call, method)]);
    paths[call.path] = { ...paths[call.path], ...Object.fromEntries(operations) };
  }
  const pay = paths["/payment"]?.["post"] as Json;
  const page = {
    operationId: "getPage",
    summary: "The operator's page",
    responses: {
      "200": { description: "HTML", content: { "text/html": { schema: { type: "string" } } } },
      ...errorResponses(always, undefined),
    },
  };
  paths["/"] = { get: page, post: { ...pay, operationId: "postRoot" } };
  return paths;
}

function operation(call: DocumentedCall, method: "get" | "post"): Json {
  const { path, summary, description, role, body, query = {} } = call;
  const errors = [...always, ...(method === "post" ? withBody : [])];
  const also = role === undefined ? [] : (["OPERATOR_REQUIRED"] as const);
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      ...{ name, in: "path", required: true },
      schema: { type: "string" },
    })),
    ...Object.entries(query).map(([name, text]) => ({
      ...{ name, in: "query", description: text },
      schema: { type: "string" },
    })),
  ];
  return {
    operationId: `${method}${path.replace(/[^A-Za-z]+(.)?/g, (_, c = "") => c.toUpperCase())}`,
    summary,
    description: [description, roleText(role)].filter(Boolean).join("\n\n"),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body && method === "post"
      ? {
          requestBody: {
            required: true,
            content: { "application/json": { schema: ref(body.schema), example: body.example } },
          },
        }
      : {}),
    responses: {
      ...errorResponses([...errors, ...call.errors, ...also], call),
      "200": goodResponse(call),
    },
  };
}

function roleText(role: DocumentedCall["role"]): string {
  if (role === undefined) return "";
  const without =
    role === "own" ? "without that setting nobody may" : "without it the one pair may";
  return `Where OPERATOR_LOGIN is set this call needs that pair; ${without}.`;
}

function goodResponse({ answer, list, errors }: DocumentedCall): Json {
  if ("type" in answer) {
    const schema = answer.type === "application/json" ? { type: "object" } : { type: "string" };
    return { description: answer.description, content: { [answer.type]: { schema } } };
  }
  const codes = errors.filter((code) => errorTable[code].http === 200);
  const named = codes.length === 0 ? "" : `; error.code may be ${codes.join(", ")}`;
  return {
    description: `The answer${named}.`,
    content: {
      "application/json": {
        schema: arrayOf([ref(answer.schema)], list),
        example: [answer.example],
      },
    },
  };
}

/** One response for each status, with the codes that come with it. */
function errorResponses(codes: readonly ErrorCode[], call: DocumentedCall | undefined): Json {
  const byStatus = Map.groupBy(
    codes.filter((code) => errorTable[code].http !== 200),
    (code) => errorTable[code].http,
  );
  for (const status of call?.answerAlso ?? []) {
    if (!byStatus.has(status)) byStatus.set(status, []);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, here]) => {
      const unique = [...new Set(here)];
      const { answer } = call ?? {};
      const also = call?.answerAlso?.includes(status) && answer && "schema" in answer;
      const failure = { allOf: [ref(answers.failure), withCodes(unique)] };
      const schema = arrayOf([failure, ...(also ? [ref(answer.schema)] : [])], false);
      const lines = unique.map((code) => `- \`${code}\`: ${errorTable[code].meaning}`);
      return [
        String(status),
        {
          description: lines.join("\n") || "The answer.",
          ...(status === 401 ? { headers: { "WWW-Authenticate": { schema: string } } } : {}),
          content: { "application/json": { schema } },
        },
      ];
    }),
  );
}

const string = { type: "string" };

function withCodes(codes: readonly ErrorCode[]): Json {
  return { properties: { error: { properties: { code: { enum: codes } } } } };
}

function arrayOf(kinds: readonly Json[], list: boolean | undefined): Json {
  const items = kinds.length === 1 ? kinds[0] : { anyOf: kinds };
  return { type: "array", items, ...(list ? {} : { minItems: 1, maxItems: 1 }) };
}

/** Names of schemas: a type's name is that of its constant. */
const names = new Map<z.ZodType, string>(
  Object.entries({ ...answers, ...requests }).map(([name, schema]) => [
    schema,
    `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  ]),
);

function ref(schema: z.ZodType): Json {
  const name = names.get(schema);
  return name === undefined ? inline(schema) : { $ref: `#/components/schemas/${name}` };
}

function inline(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest;
}

function components(): Json {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of names) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema]),
  );
}

function errorsText(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { http, charged, retry, meaning, action }]) =>
      `| \`${code}\` | ${http} | ${charged} | ${retry} | ${meaning} ${action} |`,
  );
  return ["| Code | HTTP | charged | retry | Meaning |", "|---|---|---|---|---|", ...rows].join(
    "\n",
  );
}
