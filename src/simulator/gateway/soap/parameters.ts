import { isIP } from "node:net";
import { containsPan, maskPansInText } from "../../../shared/masking/mask.ts";
import { LOGIN_LENGTH_MAX } from "../account.ts";
import { childNamed, type XmlElement } from "./xml.ts";

/* The WSDL and the checks of requests share these tables, so published and accepted types agree. */

type SimpleType = "string" | "int" | "float" | "boolean";

export interface RecordType {
  readonly kind: "record";
  readonly name: string;
  readonly fields: readonly Field[];
}

/** A parameter with several values, written as repeated `item` elements. */
export interface ListType {
  readonly kind: "list";
  readonly name: string;
  readonly item: RecordType;
}

/** Returns why a non-empty text is refused ("must be ..."); undefined: the text is valid. */
type ValueRule = (value: string) => string | undefined;

/** A parameter of a SOAP request, as the gateway's documents have it (docs/design.md 12.10). */
export interface Field {
  readonly name: string;
  /** Another spelling of the parameter's element, which real clients use. */
  readonly alias?: string;
  readonly type: SimpleType | RecordType | ListType;
  readonly mandatory?: boolean;
  /** Whether the WSDL says `nillable`: then even a mandatory field can be sent as xsi:nil. */
  readonly nillable?: boolean;
  /** The largest number of characters (docs/design.md 12.10). */
  readonly lengthMax?: number;
  readonly rule?: ValueRule;
  /** Whether a mandatory field can be an empty text. */
  readonly mayBeEmpty?: boolean;
  /** Whether the WSDL leaves the field out, although real clients send it. */
  readonly unpublished?: boolean;
}

/** The fields of a record by their names, in the order of the WSDL. */
export type Fields = Readonly<Record<string, Omit<Field, "name">>>;

export function record(name: string, fields: Fields): RecordType {
  const named = Object.entries(fields).map(([field, rest]) => ({ name: field, ...rest }));
  return { kind: "record", name, fields: named };
}

export function list(name: string, item: RecordType): ListType {
  return { kind: "list", name, item };
}

/** The parameters with credentials, which every operation has (docs/design.md 12.15). */
export const credentialFields: Fields = {
  wsLogin: { type: "string", mandatory: true, lengthMax: LOGIN_LENGTH_MAX },
  wsPassword: { type: "string", mandatory: true, lengthMax: 32 },
  wsSubAccountLogin: { type: "string", nillable: true },
  wsSubAccountId: { type: "int", nillable: true },
  // The purpose of this field at the real gateway is unknown (docs/gateway.md 2.2).
  authenticationToken: { type: "string", nillable: true, unpublished: true },
};

/** The names of parameters that are neither stored nor displayed. */
const secretFields: ReadonlySet<string> = new Set(["wsPassword", "authenticationToken"]);

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

/** One e-mail address or several: some shops send several in `emailCallback`. */
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
 * The date form Y-m-dTH:i:s, and its variants in real clients: a blank or the name of a time zone
 * in place of the T, a fraction of seconds, an offset at the end (docs/gateway.md 2.3).
 */
const executionDatePattern = new RegExp(
  String.raw`^(\d{4}-\d{2}-\d{2})(?:T| |[A-Z]{2,5}|[+-]\d{2}(?::?\d{2})?)` +
    String.raw`(\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?$`,
);

export const executionDate: ValueRule = (value) => {
  const [, date, time] = executionDatePattern.exec(value) ?? [];
  const moment = new Date(`${date}T${time}Z`);
  // JavaScript's Date changes a day or hour that does not exist into another one.
  const exists =
    !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(`${date}T${time}`);
  return exists ? undefined : "must be a date and time like 2026-07-05T03:09:26";
};

/** The rule of each simple type; int and float are the formats N and R of docs/design.md 12.10. */
const typeRules: Readonly<Record<SimpleType, ValueRule | undefined>> = {
  string: undefined,
  int: matches(/^[+-]?\d{1,11}$/, "must be a whole number"),
  float: matches(/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/, "must be a number"),
  boolean: oneOf("0", "1", "true", "false"),
};

/** The value of a parameter in a request: a text, null for xsi:nil, a record, or a list's items. */
type Value = string | null | Values | readonly Values[];
export interface Values {
  readonly [name: string]: Value;
}

/** The result code for a missing, unknown or wrong parameter (docs/gateway.md 2.6). */
const PARAMETER_INVALID = 3;

/** The refusal of an operation, which is sent in the result element of the answer. */
export class OperationRefused extends Error {
  override readonly name = "OperationRefused";
  readonly code: number;
  readonly status: 200 | 500;

  constructor(code: number, description: string, status: 200 | 500 = 200) {
    super(description);
    this.code = code;
    this.status = status;
  }
}

/** Returns the refusal of an invalid value; its text names the field (docs/gateway.md 2.6). */
export function invalid(field: string, why: string): OperationRefused {
  return new OperationRefused(PARAMETER_INVALID, `${field} invalid: ${why}`);
}

/** Returns the refusal of a missing or unknown parameter, with HTTP 500 (docs/design.md 12.20). */
export function structural(field: string, why: string): OperationRefused {
  return new OperationRefused(PARAMETER_INVALID, `${field} invalid: ${why}`, 500);
}

/** Returns the text of a parameter in an unchecked request; "": the parameter is missing. */
export function parameterOf(operation: XmlElement, name: string): string {
  const parameters = childNamed(operation, "parameters");
  return (parameters && childNamed(parameters, name)?.text) ?? "";
}

/** Reads `parameters`. Throws {@link OperationRefused} if one is unknown, missing or repeated. */
export function readParameters(operation: XmlElement, type: RecordType): Values {
  const parameters = childNamed(operation, "parameters");
  if (!parameters) throw structural("parameters", "the mandatory element is missing");
  const stranger = operation.children.find((child) => child !== parameters);
  if (stranger) throw structural(stranger.name, "unknown parameter");
  return readRecord(parameters, type);
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
    // Blanks around a number or boolean are ignored (XML Schema part 2, 4.3.6).
    return type === "string" ? element.text : element.text.trim();
  }
  if (type.kind === "record") return readRecord(element, type);
  return element.children.map((child) => {
    if (child.name !== "item") throw structural(child.name, `unknown element inside ${name}`);
    return readRecord(child, type.item);
  });
}

/** Checks every value. Throws {@link OperationRefused} for the first value that is wrong. */
export function checkValues(values: Values, type: RecordType): void {
  for (const field of type.fields) checkValue(values[field.name], field);
}

function checkValue(value: Value | undefined, field: Field): void {
  const { name, type, mandatory, nillable, mayBeEmpty, lengthMax, rule } = field;
  if (value === undefined) return;
  if (value === null || value === "") {
    // Optional fields can be empty: several shop modules send empty ones (docs/gateway.md 2.3).
    const isAllowed = !mandatory || mayBeEmpty || (value === null && nillable);
    if (!isAllowed) throw invalid(name, "it is empty");
    return;
  }
  if (typeof type !== "string") {
    const record = type.kind === "record" ? type : type.item;
    for (const item of [value].flat() as readonly Values[]) checkValues(item, record);
    return;
  }
  const text = String(value);
  const { length } = [...text];
  if (lengthMax !== undefined && length > lengthMax) {
    throw invalid(name, `${length} characters, at most ${lengthMax} are allowed`);
  }
  const wrong = typeRules[type]?.(text) ?? rule?.(text);
  if (wrong !== undefined) throw invalid(name, `it ${wrong}`);
}

/** Returns the text of a simple parameter; "": the parameter is missing, empty or nil. */
export function textOf(values: Values, name: string): string {
  const value = values[name];
  return typeof value === "string" ? value : "";
}

/**
 * Returns a parameter's stored form: without secrets, and with each text that is a card number
 * masked. A longer number that contains one stays, because merchants must find their references.
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
