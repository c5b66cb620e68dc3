import { LOGIN_LENGTH_MAX } from "../account.ts";

/**
 * Parameters declared as data: the WSDL and the checks of a request are both made from these
 * tables, so that what is published and what is accepted cannot drift apart.
 */

export type SimpleType = "string" | "int" | "float" | "boolean";

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

/** Says what a value must be when it is not ("must be ..."), or nothing. Never sees empty text. */
export type ValueRule = (value: string) => string | undefined;

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
  // docs/gateway.md 2.2: present in the real types, use unknown.
  { name: "authenticationToken", type: "string", nillable: true, unpublished: true },
];

/** Parameters that are neither stored nor shown. */
export const secretFields: ReadonlySet<string> = new Set(["wsPassword", "authenticationToken"]);
