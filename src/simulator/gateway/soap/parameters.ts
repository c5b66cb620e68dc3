import { isIP } from "node:net";
import { containsPan, maskPansInText } from "../../../shared/masking/mask.ts";
import { LOGIN_LENGTH_MAX } from "../account.ts";
import { childNamed, type XmlElement } from "./xml.ts";

/**
 * Parameters declared as data: the WSDL and the checks of a request are both made from these
 * tables, so that what is published and what is accepted cannot drift apart.
 */

type SimpleType = "string" | "int" | "float" | "boolean";

export interface RecordType {
  readonly kind: "record";
  readonly name: string;
  readonly fields: readonly Field[];
}

/** A list is written as repeated `item` elements. */
export interface ListType {
  readonly kind: "list";
  readonly name: string;
  readonly item: RecordType;
}

/** Returns what a value must be ("must be ..."); undefined: it is right. Never gets empty text. */
type ValueRule = (value: string) => string | undefined;

export interface Field {
  readonly name: string;
  /** Another spelling of the element that real clients use. */
  readonly alias?: string;
  readonly type: SimpleType | RecordType | ListType;
  /** Column "Required" of the table (docs/design.md 12.10). */
  readonly mandatory?: boolean;
  /** `nillable` in the WSDL; a mandatory field that says so may be sent as xsi:nil. */
  readonly nillable?: boolean;
  /** Column "Length" of the table (docs/design.md 12.10), in characters. */
  readonly lengthMax?: number;
  readonly rule?: ValueRule;
  /** A mandatory field whose value may be empty text. */
  readonly mayBeEmpty?: boolean;
  /** Accepted because clients send it, but not in the published types. */
  readonly unpublished?: boolean;
}

export function record(name: string, fields: readonly Field[]): RecordType {
  return { kind: "record", name, fields };
}

export function list(name: string, item: RecordType): ListType {
  return { kind: "list", name, item };
}

/** Credentials, the same in every operation (docs/design.md 12.15). */
export const credentialFields: readonly Field[] = [
  { name: "wsLogin", type: "string", mandatory: true, lengthMax: LOGIN_LENGTH_MAX },
  { name: "wsPassword", type: "string", mandatory: true, lengthMax: 32 },
  { name: "wsSubAccountLogin", type: "string", nillable: true },
  { name: "wsSubAccountId", type: "int", nillable: true },
  // The real types have this field; its use is unknown (docs/gateway.md 2.2).
  { name: "authenticationToken", type: "string", nillable: true, unpublished: true },
];

/** Parameters that are neither stored nor shown. */
const secretFields: ReadonlySet<string> = new Set(["wsPassword", "authenticationToken"]);

/** The formats of docs/design.md 12.10, and those of real clients (docs/gateway.md 2.3). */

export const oneOf =
  (...allowed: readonly string[]): ValueRule =>
  (value) =>
    allowed.includes(value) ? undefined : `must be one of ${allowed.join(", ")}`;

const matches =
  (pattern: RegExp, otherwise: string): ValueRule =>
  (value) =>
    pattern.test(value) ? undefined : otherwise;

export const currencyCode = matches(/^[A-Z]{3}$/, "must be three capital letters (ISO 4217)");

export const locale = matches(/^[a-z]{2}_[A-Z]{2}$/, "must look like en_GB");

export const email = matches(/^[^\s@,;]+@[^\s@,;]+$/, "must be one e-mail address");

/** One address or several: some shops use `emailCallback` so. */
export const emails = matches(/^[^\s@]+@[^\s@]+([,;]\s*[^\s@]+@[^\s@]+)*$/, "must be e-mail");

export const ipAddress: ValueRule = (value) =>
  isIP(value) === 0 ? "must be an IP address" : undefined;

export const webAddress: ValueRule = (value) => addressRule(value, ["http:", "https:"]);

/** An address over HTTPS, as urlLogo must be (docs/design.md 12.21). */
export const secureAddress: ValueRule = (value) => addressRule(value, ["https:"]);

function addressRule(value: string, protocols: readonly string[]): string | undefined {
  const wrong = `must be an address starting with ${protocols.map((p) => `${p}//`).join(" or ")}`;
  const url = URL.parse(value);
  return url && protocols.includes(url.protocol) && url.hostname !== "" ? undefined : wrong;
}

/**
 * Dates as Y-m-dTH:i:s, and the forms that clients make of it: a blank or the name of a zone in
 * place of the T, a fraction of seconds, an offset at the end (docs/gateway.md 2.3).
 */
const executionDatePattern = new RegExp(
  String.raw`^(\d{4}-\d{2}-\d{2})(?:T| |[A-Z]{2,5}|[+-]\d{2}(?::?\d{2})?)` +
    String.raw`(\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?$`,
);

export const executionDate: ValueRule = (value) => {
  const [, date, time] = executionDatePattern.exec(value) ?? [];
  const moment = new Date(`${date}T${time}Z`);
  // A day or an hour that does not exist makes another moment, or none.
  const exists =
    !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(`${date}T${time}`);
  return exists ? undefined : "must be a date and time like 2026-07-05T03:09:26";
};

/** Formats N and R of the tables, with their names in XML Schema. */
const typeRules: Readonly<Record<SimpleType, ValueRule | undefined>> = {
  string: undefined,
  int: matches(/^[+-]?\d{1,11}$/, "must be a whole number"),
  float: matches(/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/, "must be a number"),
  boolean: oneOf("0", "1", "true", "false"),
};

/** A parameter as it came: text, null for xsi:nil, a record, or the items of a list. */
type Value = string | null | Values | readonly Values[];
export interface Values {
  readonly [name: string]: Value;
}

/**
 * A parameter that stands in the way of a request. docs/gateway.md 2.6: the description holds the
 * field's name and "invalid".
 */
export class ParameterRefused extends Error {
  override readonly name = "ParameterRefused";
  /** Whether a parameter is missing or unknown: the answer is HTTP 500 (docs/design.md 12.20). */
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

/** Checks every value. Throws {@link ParameterRefused} for the first wrong one. */
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
  const wrong = (typeof type === "string" ? typeRules[type]?.(value) : undefined) ?? rule?.(value);
  if (wrong !== undefined) throw new ParameterRefused(name, `it ${wrong}`);
}

/** Returns the text of a simple parameter; "": it was left out, empty or nil. */
export function textOf(values: Values, name: string): string {
  const value = values[name];
  return typeof value === "string" ? value : "";
}

/**
 * Returns a parameter as it may be stored: without secrets, and with every text that is a card
 * number masked. Texts that only look like one somewhere inside a longer number stay as they are,
 * or merchants would not find their own references again.
 */
export function maskStored<T extends Value>(value: T): T {
  return mask(value) as T;
}

function mask(value: Value): Value {
  if (value === null) return null;
  if (typeof value === "string") return containsPan(value) ? maskPansInText(value) : value;
  if (Array.isArray(value)) return value.map((item) => mask(item) as never);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !secretFields.has(name))
      .map(([name, inner]) => [name, mask(inner)]),
  );
}
