import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { fleetFiles } from "../../../scripts/fleet-schemas.ts";
import { projectRoot } from "../../../src/shared/version-files.ts";
import { fleetDocuments } from "../../../src/supervisor/fleet/documents.ts";
import { testCards } from "../../shared/masking/test-cards.ts";

interface Leaf {
  readonly path: string;
  readonly schema: Record<string, unknown>;
}

/** Every place of a JSON Schema that holds a value. Throws at a place that could hold anything. */
function leavesOf(schema: Record<string, unknown>, path: string): Leaf[] {
  const { type, properties, items, anyOf } = schema;
  if (Array.isArray(anyOf)) return anyOf.flatMap((one) => leavesOf(one, path));
  if (type === "array") return leavesOf(items as Record<string, unknown>, `${path}[]`);
  if (type !== "object") return [{ path, schema }];
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
  // Each name in this list was reviewed: our own names, versions, currencies, configured ids.
  expect([...new Set(patterns.map(({ path }) => path.split(".").at(-1)))].sort()).toEqual([
    "alarm",
    "currency",
    "formerly",
    "kiosk",
    "ready",
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
    if (Array.isArray(schema["enum"])) return schema["enum"].includes(text);
    return new RegExp(String(schema["pattern"] ?? "^$")).test(text);
  });
  expect(takes.map(({ path }) => path)).toEqual([]);
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
