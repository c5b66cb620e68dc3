import { z } from "zod";
import {
  customerMessageOfCode,
  customerMessageOfStatus,
  customerMessages,
} from "../../../client/customer-messages.ts";
import { type ErrorCode, errorTable } from "../../../shared/catalog/errors.ts";
import { eventTable, isKept } from "../../attempts/event-table.ts";
import { acceptsNothing } from "../body/input.ts";
import {
  type AnyCall,
  type Documented,
  isActing,
  type Method,
  methodsOf,
  pathsOf,
} from "../call.ts";
import { calls } from "../calls/calls.ts";
import texts from "./document-en.json" with { type: "json" };
import allExamples from "./examples.json" with { type: "json" };
import { known, namedSchemas } from "./known-answers.ts";
import { paymentRefusal } from "./payments.ts";
import { type Json, SchemaBook, type Texts } from "./schema-book.ts";
import { apiErrors, oneOfErrors, time } from "./schemas.ts";

/** The version of the API: members, calls and codes are added to it, never removed or changed. */
const API_VERSION = "1";
const PORT_DEFAULT = "8765";

/** The error codes that every call may answer before its request is read. */
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
];
/** The error codes for a body that is refused before the call is known. */
const withBody: readonly ErrorCode[] = ["BODY_NOT_JSON", "BODY_TOO_LARGE", "CONTENT_TYPE_REFUSED"];

interface CallTexts {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  /** What the answer 202 means. */
  readonly accepted?: string;
  /** The texts of the answer's members; missing if the schema has a name and texts of its own. */
  readonly answer?: Texts;
}

/** Returns the texts about a call for openapi.json and reference.md. Throws if there are none. */
export function textsOf({ path }: Pick<AnyCall, "path">): CallTexts {
  const found = new Map<string, CallTexts>(Object.entries(texts.calls)).get(path);
  if (found === undefined) {
    throw new Error(
      `document-en.json has no texts of ${path}: add them, in the order of the calls`,
    );
  }
  return found;
}

/** Returns the texts of an event's members; the text under "" says what the event means. */
export function textsOfEvent(name: string): Readonly<Record<string, string>> {
  return new Map<string, Record<string, string>>(Object.entries(texts.events)).get(name) ?? {};
}

interface Examples {
  readonly body?: unknown;
  readonly answer?: unknown;
}

/** Returns the examples of a call. A path in place of an answer stands for that path's answer. */
export function examplesOf(path: string): Examples {
  const found = (allExamples as Readonly<Record<string, Examples>>)[path] ?? {};
  const { answer } = found;
  return typeof answer === "string" ? { ...found, answer: examplesOf(answer).answer } : found;
}

/**
 * Returns the OpenAPI 3.1 document of the local API, made from the call records. Members that are
 * undefined are not in its JSON. Pure.
 */
export function openApiDocument(): Json {
  const capital = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const named = Object.entries(namedSchemas).map(([name, one]) => [capital(name), one] as const);
  const errors = Object.entries(apiErrors).map(([code, one]) => [`Error_${code}`, one] as const);
  const book = new SchemaBook(Object.fromEntries([...named, ...errors]), texts.schemas);
  const document = {
    openapi: "3.1.0",
    info: {
      title: "Unattended terminal connector: local API",
      version: API_VERSION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description: descriptionText(),
    },
    servers: [
      {
        url: "http://localhost:{port}",
        variables: { port: { default: PORT_DEFAULT, description: "LOCAL_PORT" } },
      },
    ],
    security: [{ basic: [] }],
    paths: paths(book),
    components: {
      securitySchemes: { basic: { type: "http", scheme: "basic" } },
      responses: {} as Json,
      schemas: book.components,
    },
    "x-customer-messages": {
      messages: customerMessages,
      byStatus: customerMessageOfStatus,
      byCharged: { yes: "charged-ask", unknown: "unknown" },
      byCode: customerMessageOfCode,
      otherwise: "unavailable",
    },
    "x-events": Object.fromEntries(
      Object.entries(eventTable).map(([name, data]) => {
        const { "": meaning, ...members } = textsOfEvent(name);
        return [
          name,
          { meaning, hasId: isKept(name), data: book.of(data.extend({ at: time }), members) },
        ];
      }),
    ),
  };
  book.fill();
  document.components.responses = shareResponses(document.paths);
  return document;
}

function shareResponses(paths: Json): Json {
  const operations = Object.values(paths).flatMap((path) => Object.values(path as Json)) as Array<{
    readonly responses: Json;
  }>;
  const all = operations.flatMap(({ responses }) => Object.entries(responses));
  const byText = Map.groupBy(all, ([, response]) => JSON.stringify(response));
  const shared: Json = {};
  const names = new Map<string, string>();
  for (const [text, [first, second]] of byText) {
    if (!first || !second) continue;
    const count = Object.keys(shared).filter((name) => name.startsWith(`Status${first[0]}`)).length;
    const name = `Status${first[0]}${count === 0 ? "" : `_${count + 1}`}`;
    names.set(text, name);
    shared[name] = first[1];
  }
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const name = names.get(JSON.stringify(response));
      if (name !== undefined) responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  return shared;
}

function paths(book: SchemaBook): Json {
  const all: Record<string, Json> = {};
  for (const record of calls) {
    for (const path of pathsOf(record)) {
      const operations = record.methods.map((method) => [
        method.toLowerCase(),
        operation(record, path, method, book),
      ]);
      all[path] = { ...all[path], ...Object.fromEntries(operations) };
    }
  }
  return all;
}

function operation(record: AnyCall, path: string, method: Method, book: SchemaBook): Json {
  const { body } = record;
  const { summary, description, accepted, answer } = textsOf(record);
  const documented = record.document(known);
  const examples = examplesOf(record.path);
  const parameters = parametersOf(record, path, book);
  const requestBody = body && {
    required: !acceptsNothing(body),
    content: { "application/json": { schema: book.of(body), example: examples.body } },
  };
  return {
    operationId: operationId(method, path),
    summary,
    deprecated: path === record.formerPath || undefined,
    description: [description, roleText(record)].filter(Boolean).join("\n\n"),
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: method === "POST" ? requestBody : undefined,
    responses: {
      "200": {
        ...goodResponse(documented, book, examples.answer, answer),
        headers: waitHeader(record),
      },
      ...acceptedResponse(documented, book, accepted),
      ...refusals(record, method, documented, book),
    },
  };
}

function operationId(method: Method, path: string): string {
  const name = path === "/" ? "Root" : path;
  const parts = name.replace(/[^A-Za-z]+(.)?/g, (_, first = "") => first.toUpperCase());
  return `${method.toLowerCase()}${parts}`;
}

function parametersOf(record: AnyCall, path: string, book: SchemaBook): Json[] {
  const { params, query, headers } = record;
  const { parameters = {} } = textsOf(record);
  const listed = (where: string, schema: z.ZodType | undefined): Json[] =>
    Object.entries((schema as z.ZodObject | undefined)?.shape ?? {}).map(([name, member]) => {
      return { name, in: where, description: parameters[name], schema: book.of(member) };
    });
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => {
      const member = params?.shape[name];
      const schema = member ? book.of(member) : { type: "string", minLength: 1 };
      return { name, in: "path", required: true, schema };
    }),
    ...listed("query", query),
    ...listed("header", headers),
  ];
}

function roleText({ role, figures }: AnyCall): string {
  if (figures) return "The pair METRICS_LOGIN may make this call too, and no other call.";
  if (role === undefined) return "";
  const without =
    role === "own-operator" ? "without that setting nobody may" : "without it the one pair may";
  return `Where OPERATOR_LOGIN is set this call needs that pair; ${without}.`;
}

function goodResponse(
  documented: Documented,
  book: SchemaBook,
  example: unknown,
  said: Texts = {},
): Json {
  const { answer, list, type, description, errors = [] } = documented;
  if (type !== undefined) {
    return { description, content: { [type]: { schema: book.of(answer) } } };
  }
  const codes = errors.filter((code) => errorTable[code].http === 200);
  const codesText = codes.length === 0 ? "" : `; error.code may be ${codes.join(", ")}`;
  return {
    description: `The answer${codesText}.`,
    content: {
      "application/json": {
        schema: arrayOf([book.of(answer, said)], list),
        example: [example],
      },
    },
  };
}

function acceptedResponse({ accepted }: Documented, book: SchemaBook, description?: string): Json {
  if (accepted === undefined) return {};
  const headers = { Location: textHeader, ...preferenceApplied };
  const content = { "application/json": { schema: arrayOf([book.of(accepted)]) } };
  return { "202": { description, headers, content } };
}

const textHeader = { schema: { type: "string" } };
const preferenceApplied = { "Preference-Applied": textHeader };

/** Returns the header of an answer that a reader may have waited for; undefined: it cannot wait. */
function waitHeader({ reads, headers }: AnyCall): Json | undefined {
  return reads && headers?.shape["prefer"] ? preferenceApplied : undefined;
}

function refusals(
  record: AnyCall,
  method: Method,
  { answer, also = [], errors = [] }: Documented,
  book: SchemaBook,
): Json {
  const { role, answersPayment, whileUpdating } = record;
  const isRefused = isActing(method, record) && !whileUpdating;
  const own: readonly ErrorCode[] = [
    ...(method === "POST" ? withBody : []),
    ...errors,
    ...(role === undefined ? [] : (["OPERATOR_REQUIRED"] as const)),
    ...(isRefused ? (["UPDATING"] as const) : []),
    "STORAGE_FAILED",
  ];
  const codes = [...new Set([...always, ...own])].filter((code) => errorTable[code].http !== 200);
  const byStatus = Map.groupBy(codes, (code) => errorTable[code].http);
  for (const status of also) if (!byStatus.has(status)) byStatus.set(status, []);
  return Object.fromEntries(
    [...byStatus].map(([status, here]) => {
      const plain = answersPayment ? here.filter((code) => always.includes(code)) : here;
      const kinds = [
        ...(answersPayment && here.length > 0 ? [refusal(here, true)] : []),
        ...(plain.length > 0 ? [refusal(plain, false)] : []),
        ...(also.includes(status) ? [answer] : []),
      ];
      const lines = here.map((code) => `- \`${code}\`: ${errorTable[code].meaning}`);
      return [
        String(status),
        {
          description: lines.join("\n") || "The answer.",
          headers:
            status === 401
              ? { "WWW-Authenticate": textHeader }
              : status === 504
                ? waitHeader(record)
                : undefined,
          content: {
            "application/json": { schema: arrayOf(kinds.map((kind) => book.of(kind))) },
          },
        },
      ];
    }),
  );
}

function refusal(codes: readonly ErrorCode[], ofPayment: boolean): z.ZodType {
  return z.object({
    status: z.enum(["Failed", "Unknown"]),
    error: oneOfErrors(codes),
    ...(ofPayment ? paymentRefusal.shape : {}),
  });
}

function arrayOf(kinds: readonly Json[], list?: true): Json {
  const items = kinds.length === 1 ? kinds[0] : { anyOf: kinds };
  return { type: "array", items, ...(list ? {} : { minItems: 1, maxItems: 1 }) };
}

function descriptionText(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { http, charged, retry, meaning, action }]) =>
      `| \`${code}\` | ${http} | ${charged} | ${retry} | ${meaning} ${action} |`,
  );
  const withHead = calls
    .filter((record) => methodsOf(record).includes("HEAD"))
    .flatMap(pathsOf)
    .map((path) => `\`${path}\``);
  return texts.description
    .replace("{version}", API_VERSION)
    .replace("{paths}", withHead.join(", "))
    .replace("{codes}", rows.join("\n"));
}
