/**
 * The keywords that the schemas of docs/fleet use.
 * @typedef {{
 *   anyOf?: Schema[], const?: unknown, enum?: unknown[], type?: string,
 *   minimum?: number, maximum?: number, pattern?: string, items?: Schema,
 *   properties?: Record<string, Schema>, required?: string[],
 * }} Schema
 */

/**
 * Whether a value is as a JSON Schema of docs/fleet says. Members that the schema does not know
 * pass, because a newer connector may report more (docs/fleet.md 3.1).
 * @param {Schema} schema
 * @param {unknown} value
 * @returns {boolean}
 */
export function isValid(schema, value) {
  if (schema.anyOf) return schema.anyOf.some((one) => isValid(one, value));
  if ("const" in schema) return value === schema.const;
  if (schema.enum) return schema.enum.includes(value);
  return checks[schema.type ?? ""]?.(schema, value) ?? false;
}

/** @typedef {(schema: Schema, value: unknown) => boolean} Check */

/** @type {Check} */
const number = ({ minimum = -Infinity, maximum = Infinity }, value) =>
  typeof value === "number" && value >= minimum && value <= maximum;

/** @type {Record<string, Check>} */
const checks = {
  null: (_schema, value) => value === null,
  boolean: (_schema, value) => typeof value === "boolean",
  number,
  integer: (schema, value) => number(schema, value) && Number.isInteger(value),
  string: ({ pattern }, value) => typeof value === "string" && expression(pattern).test(value),
  array: ({ items }, value) =>
    Array.isArray(value) && value.every((one) => isValid(items ?? {}, one)),
  object: ({ properties, required = [] }, value) =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    required.every((name) => Object.hasOwn(value, name)) &&
    Object.entries(properties ?? {}).every(
      ([name, one]) => !Object.hasOwn(value, name) || isValid(one, Reflect.get(value, name)),
    ),
};

/** @type {Map<string, RegExp>} */
const expressions = new Map();

function expression(pattern = "") {
  const known = expressions.get(pattern);
  if (known) return known;
  const made = new RegExp(pattern, "u");
  expressions.set(pattern, made);
  return made;
}
