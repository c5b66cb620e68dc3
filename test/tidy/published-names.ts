import { readFileSync } from "node:fs";
import { z } from "zod";
import { supervisorAlarms, tpManagerAlarms } from "../../src/shared/catalog/alarms.ts";
import { errorTable } from "../../src/shared/catalog/errors.ts";
import { findingTable } from "../../src/shared/catalog/findings.ts";
import { sharedParts } from "../../src/shared/config/schema.ts";
import { supervisorMessages, tpManagerMessages } from "../../src/shared/ipc/contract.ts";
import { fleetMessages } from "../../src/shared/ipc/fleet-messages.ts";
import { eventTable } from "../../src/tp-manager/attempts/event-table.ts";
import { protocolPart } from "../../src/tp-manager/terminal/registry.ts";
import { repositoryFiles, root } from "./sources.ts";

/** Names that other programs, older versions and stored data know: no word is changed in them. */
export function publishedNames(): Set<string> {
  const documents = ["docs/openapi.json", ...repositoryFiles("docs/fleet")]
    .filter((path) => path.endsWith(".json"))
    .map((path): unknown => JSON.parse(readFileSync(`${root}/${path}`, "utf8")));
  const messages = { ...supervisorMessages, ...tpManagerMessages, ...fleetMessages };
  const schemas = Object.values(messages).flatMap(({ request, response }) => [request, response]);
  const events = Object.values(eventTable);
  return new Set([
    ...documents.flatMap((document) => namesOf(document)),
    ...[...schemas, ...events].flatMap((schema) =>
      namesOf(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })),
    ),
    ...Object.keys({ ...messages, ...eventTable, ...errorTable, ...findingTable }),
    ...[...sharedParts, protocolPart].flatMap(({ fields }) => [
      ...Object.keys(fields),
      ...Object.values(fields).flatMap((schema) =>
        namesOf(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })),
      ),
    ]),
    ...tpManagerAlarms,
    ...supervisorAlarms,
    ...metricNames(),
    ...namesInSource(),
  ]);
}

/** Members, closed values, operations and paths of a document in JSON Schema or OpenAPI. */
function namesOf(value: unknown, key = ""): string[] {
  if (Array.isArray(value)) {
    const values = key === "enum" ? value.filter((one) => typeof one === "string") : [];
    return [...values, ...value.flatMap((one) => namesOf(one))];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inside]) => {
    const isName = key === "properties" || key === "paths" || key === "schemas";
    const isNamed = /^(const|operationId|name)$/.test(name) && typeof inside === "string";
    const path = key === "paths" ? name.split(/(?=\/)/) : [];
    return [
      ...(isName ? [name] : []),
      ...path,
      ...(isNamed ? [inside] : []),
      ...namesOf(inside, name),
    ];
  });
}

function metricNames(): string[] {
  const helps = readFileSync(`${root}/src/tp-manager/http/status/metrics-en.json`, "utf8");
  return Object.keys(JSON.parse(helps)).map((name) => `connector_${name}`);
}

/** Columns, tables, indexes, metrics and previous names of alarms: as the sources write them. */
function namesInSource(): string[] {
  const forms = [
    /^ +(\w+) (?:TEXT|INTEGER|REAL|BLOB)\b/gm,
    /\bADD COLUMN (\w+)/g,
    /\b(?:TABLE|INDEX|TRIGGER|VIEW) (?:IF NOT EXISTS )?(\w+)/g,
    /\bformerly: "([a-z-]+)"/g,
    /\b(connector_\w+)/g,
  ];
  const read = (path: string): string => readFileSync(`${root}/${path}`, "utf8");
  return repositoryFiles("src")
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => {
      const text = read(path);
      return forms.flatMap((form) => [...text.matchAll(form)].map(([, name = ""]) => name));
    });
}
