import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { z } from "zod";
import { fleetFiles } from "../../../scripts/fleet-schemas.ts";
import { projectRoot } from "../../../src/shared/version-files.ts";
import { fleetDocuments, topicOf } from "../../../src/supervisor/fleet/documents.ts";
import { testCards } from "../../shared/masking/test-cards.ts";

interface Leaf {
  readonly path: string;
  readonly schema: Record<string, unknown>;
}

/** Every place of a JSON Schema that holds a value. Throws at a place that could hold anything. */
function leavesOf(schema: Record<string, unknown>, path: string): Leaf[] {
  const { type, properties, items, anyOf, propertyNames: names } = schema;
  if (Array.isArray(anyOf)) return anyOf.flatMap((one) => leavesOf(one, path));
  if (type === "array") return leavesOf(items as Record<string, unknown>, `${path}[]`);
  if (type !== "object") return [{ path, schema }];
  // A record: its names and its values are leaves too.
  if (names !== undefined) {
    const values = schema["additionalProperties"] as Leaf["schema"];
    return [{ path: `${path}.*`, schema: names as Leaf["schema"] }, ...leavesOf(values, path)];
  }
  expect(schema["additionalProperties"], `${path} is closed`).toBe(false);
  const members = Object.entries(properties as Record<string, Record<string, unknown>>);
  expect(members.length, path).toBeGreaterThan(0);
  return members.flatMap(([name, one]) => leavesOf(one, `${path}.${name}`));
}

const leaves = Object.entries(fleetDocuments).flatMap(([name, { schema }]) =>
  leavesOf(z.toJSONSchema(schema) as Record<string, unknown>, name),
);

/** The kind of value that a leaf allows; undefined: its text could contain anything. */
function kindOf({ type, enum: values, const: one, format, pattern }: Leaf["schema"]) {
  if (type === "boolean" || type === "null") return "yes or no";
  if (type === "integer") return "number";
  if (values !== undefined || one !== undefined) return "enumeration";
  if (format === "uuid") return "id";
  if (format === "date-time") return "time";
  return typeof pattern === "string" ? "pattern" : undefined;
}

test("every leaf is an enumeration, a number, an id, a time or a stable name", () => {
  expect(leaves.length).toBeGreaterThan(60);
  expect(leaves.filter(({ schema }) => kindOf(schema) === undefined)).toEqual([]);
  const patterns = leaves.filter(({ schema }) => kindOf(schema) === "pattern");
  // Each name in this list was reviewed: our own names, versions, currencies, configured ids; and
  // the labels that the owner chose, which are checked for card numbers.
  expect([...new Set(patterns.map(({ path }) => path.split(".").at(-1)))].sort()).toEqual([
    "*",
    "alarm",
    "currency",
    "formerly",
    "kiosk",
    "labels",
    "node",
    "ready",
    "release",
    "supervisor",
    "terminalId",
    "tpManager",
  ]);
});

const planted = [
  String(testCards[0]),
  "Ada Lovelace",
  "ada@example.org",
  "CUSTOMER RECEIPT|TOTAL 12,50",
  "order 4711",
  "Bearer abc.def.ghi",
];
test.each(planted)("no text leaf of any document takes %j", (text) => {
  const takes = leaves.filter(({ path, schema }) => {
    if (schema["type"] !== "string" || path.endsWith(".kiosk")) return false;
    if (path.includes(".labels")) return false;
    if (Array.isArray(schema["enum"])) return schema["enum"].includes(text);
    return new RegExp(String(schema["pattern"] ?? "^$")).test(text);
  });
  expect(takes.map(({ path }) => path)).toEqual([]);
});

test.each([
  ["a card number", { site: String(testCards[0]) }],
  ["a card number in two parts", { "4111-1111": "1111-1111" }],
  ["a ninth label", Object.fromEntries([..."abcdefghi"].map((key) => [key, "1"]))],
  ["a sentence", { site: "order 4711" }],
  ["an address", { mail: "ada@example.org" }],
  ["another script", { site: "зал" }],
])("no document carries labels with %s", (_, labels) => {
  for (const { schema, from } of Object.values(fleetDocuments)) {
    if (from === "fleet") continue;
    const issues = schema.safeParse({ labels }).error?.issues ?? [];
    expect(issues.some(({ path }) => path[0] === "labels")).toBe(true);
    const good = schema.safeParse({ labels: { site: "zurich-hb", "floor-2": "a" } });
    expect(good.error?.issues.some(({ path }) => path[0] === "labels")).toBe(false);
  }
});

test("numbers are limited to fewer digits than a card number has", () => {
  const numbers = leaves.filter(({ schema }) => schema["type"] === "integer");
  expect(numbers.length).toBeGreaterThan(20);
  for (const { path, schema } of numbers) {
    expect(Number(schema["maximum"]), path).toBeLessThan(1e11);
    expect(Number(schema["minimum"]), path).toBeGreaterThan(-1e11);
  }
});

test("docs/fleet is made from the schemas (npm run readme)", () => {
  for (const [path, text] of Object.entries(fleetFiles())) {
    expect(readFileSync(`${projectRoot}/${path}`, "utf8"), path).toBe(text);
  }
});

type Json = Record<string, unknown>;

const published = Object.fromEntries(
  Object.entries(fleetFiles()).map(([path, text]) => [path, JSON.parse(text) as Json]),
);

/** Every schema in a schema, itself too. */
function schemasIn(schema: Json): Json[] {
  const { properties = {}, items, anyOf = [], additionalProperties: more, propertyNames } = schema;
  const inner = [...Object.values(properties as Json), items, ...(anyOf as Json[]), more];
  inner.push(propertyNames);
  const schemas = inner.filter((one) => typeof one === "object") as Json[];
  return [schema, ...schemas.flatMap(schemasIn)];
}

test("a reader's schema takes members and names of later versions; a request's does not", () => {
  for (const [name, { from }] of Object.entries(fleetDocuments)) {
    const closed = schemasIn(published[`docs/fleet/${name}.schema.json`] as Json).filter(
      ({ additionalProperties }) => additionalProperties === false,
    );
    expect(closed.length > 0, name).toBe(from === "fleet");
  }
  const id = "0c0ffee0-1111-4222-8333-444455556666";
  const head = { version: 1, id, kiosk: "a", at: "2026-01-15T12:00:00.000Z", sequence: 1 };
  const about = { phase: "raised", alarm: "of-later", source: null, transactionId: null };
  const alarm = { ...head, ...about };
  const later = { ...alarm, finding: "of-later", added: { by: ["a later version"] } };
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const reads = ajv.compile(published["docs/fleet/alarm.schema.json"] as Json);
  const { schema } = fleetDocuments.alarm;
  expect([reads(alarm), schema.safeParse(alarm).success]).toEqual([true, true]);
  expect([reads(later), schema.safeParse(later).success]).toEqual([true, false]);
  expect(reads({ ...alarm, phase: "of-later" })).toBe(false);
});

/** What AsyncAPI 3 takes in a payload: JSON Schema of draft 7, which 2020-12 extends. */
const draft7 =
  /^(\$schema|\$id|title|description|type|properties|required|items|anyOf|enum|const)$/;
const draft7More = /^(format|pattern|examples|minimum|maximum|additionalProperties|propertyNames)$/;

test("asyncapi.json leads from each operation to a topic and a schema that AsyncAPI takes", () => {
  const document = published["docs/fleet/asyncapi.json"] as Json;
  const at = ({ $ref }: { $ref: string }): Json => {
    const path = $ref.replace("#/", "").split("/");
    return path.reduce<Json>((found, name) => found[name] as Json, document);
  };
  const operations = Object.entries(document["operations"] as Record<string, Json>);
  expect(operations.map(([name]) => name)).toEqual(Object.keys(fleetDocuments));
  for (const [name, { action, channel, bindings }] of operations) {
    const { from, retained } = fleetDocuments[name as keyof typeof fleetDocuments];
    expect(action).toBe(from === "kiosk" ? "send" : "receive");
    expect(bindings).toMatchObject({ mqtt: { qos: 1, retain: retained } });
    const { address, messages } = at(channel as { $ref: string });
    expect(address).toBe(topicOf("{kiosk}", name as keyof typeof fleetDocuments));
    const [message] = Object.values(messages as Record<string, { $ref: string }>);
    const { payload } = at(message as { $ref: string });
    const { $ref } = payload as { $ref: string };
    const schema = published[$ref.replace("./", "docs/fleet/")] as Json;
    const keywords = schemasIn(schema).flatMap((one) => Object.keys(one));
    expect(keywords.filter((one) => !draft7.test(one) && !draft7More.test(one))).toEqual([]);
  }
});
