import { childNamed, type XmlElement } from "../xml/xml-element.ts";
import type { Field, RecordType } from "./field.ts";
import { typeRule } from "./value-rules.ts";

/** A parameter as it came: text, null for xsi:nil, a record, or the items of a list. */
export type Value = string | null | Values | readonly Values[];
export interface Values {
  readonly [name: string]: Value;
}

/**
 * A parameter that stands in the way of a request. docs/gateway.md 2.6: the description holds the
 * field's name and "invalid".
 */
export class ParameterRefused extends Error {
  override readonly name = "ParameterRefused";
  /** Missing and unknown parameters are answered with HTTP 500 (docs/design.md 12.20). */
  readonly structural: boolean;

  constructor(field: string, why: string, structural = false) {
    super(`${field} invalid: ${why}`);
    this.structural = structural;
  }
}

/**
 * Reads the `parameters` element of an operation. Throws {@link ParameterRefused} for unknown and
 * missing parameters and for one sent twice.
 */
export function readParameters(operation: XmlElement, type: RecordType): Values {
  const parameters = childNamed(operation, "parameters");
  if (!parameters) throw structural("parameters", "the mandatory element is missing");
  const stranger = operation.children.find((child) => child !== parameters);
  if (stranger) throw structural(stranger.name, "unknown parameter");
  return readRecord(parameters, type);
}

function structural(field: string, why: string): ParameterRefused {
  return new ParameterRefused(field, why, true);
}

function readRecord(element: XmlElement, type: RecordType): Values {
  const values: Record<string, Value> = {};
  for (const child of element.children) {
    const field = type.fields.find(({ name, alias }) => [name, alias].includes(child.name));
    if (!field) throw structural(child.name, "unknown parameter");
    if (Object.hasOwn(values, field.name)) throw structural(child.name, "parameter is sent twice");
    values[field.name] = readValue(child, field);
  }
  const missing = type.fields.find(
    ({ name, mandatory }) => mandatory && !Object.hasOwn(values, name),
  );
  if (missing) throw structural(missing.name, "mandatory parameter is missing");
  return values;
}

const NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil";

function readValue(element: XmlElement, { name, type }: Field): Value {
  if (/^(true|1)$/.test(element.attributes.get(NIL) ?? "")) return null;
  if (typeof type === "string") {
    const child = element.children[0];
    if (child) throw structural(child.name, `unknown element inside ${name}`);
    // XML Schema part 2, 4.3.6: blanks around anything but text have no meaning.
    return type === "string" ? element.text : element.text.trim();
  }
  if (type.kind === "record") return readRecord(element, type);
  return element.children.map((child) => {
    if (child.name !== "item") throw structural(child.name, `unknown element inside ${name}`);
    return readRecord(child, type.item);
  });
}

/** Checks every value against its row of the table; the first that does not fit is refused. */
export function checkValues(values: Values, type: RecordType): void {
  for (const field of type.fields) checkValue(values[field.name], field);
}

function checkValue(value: Value | undefined, field: Field): void {
  if (value === undefined) return;
  const { name, type, mandatory, nillable, mayBeEmpty } = field;
  if (value === null) {
    if (mandatory && !nillable && !mayBeEmpty) throw new ParameterRefused(name, "it is empty");
  } else if (typeof value === "string") {
    checkText(value, field);
  } else if (typeof type !== "string") {
    if (type.kind === "record") checkValues(value as Values, type);
    else for (const item of value as readonly Values[]) checkValues(item, type.item);
  }
}

function checkText(value: string, field: Field): void {
  const { name, type, mandatory, mayBeEmpty, lengthMax, rule } = field;
  if (value === "") {
    // Optional fields come empty from several shop modules (docs/gateway.md 2.3).
    if (mandatory && !mayBeEmpty) throw new ParameterRefused(name, "it is empty");
    return;
  }
  const length = [...value].length;
  if (lengthMax !== undefined && length > lengthMax) {
    throw new ParameterRefused(name, `${length} characters, at most ${lengthMax} are allowed`);
  }
  const wrong = (typeof type === "string" ? typeRule(type)?.(value) : undefined) ?? rule?.(value);
  if (wrong !== undefined) throw new ParameterRefused(name, `it ${wrong}`);
}

/** The text of a simple parameter, "" when it was left out, empty or nil. */
export function textOf(values: Values, name: string): string {
  const value = values[name];
  return typeof value === "string" ? value : "";
}
