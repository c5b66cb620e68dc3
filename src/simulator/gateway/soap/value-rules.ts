import { isIP } from "node:net";
import type { SimpleType, ValueRule } from "./field.ts";

/**
 * The formats of the tables (docs/design.md 12.10), and the shapes real clients use
 * (docs/gateway.md 2.3).
 */

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

/** `emailCallback` is used for several receivers by some shops. */
export const emails = matches(/^[^\s@]+@[^\s@]+([,;]\s*[^\s@]+@[^\s@]+)*$/, "must be e-mail");

export const ipAddress: ValueRule = (value) =>
  isIP(value) === 0 ? "must be an IP address" : undefined;

export const webAddress: ValueRule = (value) => addressRule(value, ["http:", "https:"]);

/** docs/design.md 12.21: urlLogo must use HTTPS. */
export const secureAddress: ValueRule = (value) => addressRule(value, ["https:"]);

function addressRule(value: string, protocols: readonly string[]): string | undefined {
  const words = `must be an address starting with ${protocols.map((p) => `${p}//`).join(" or ")}`;
  const url = URL.parse(value);
  return url && protocols.includes(url.protocol) && url.hostname !== "" ? undefined : words;
}

/**
 * Y-m-dTH:i:s, and the forms that clients make of it: a blank or the name of a zone in place of the
 * T, a fraction of seconds, an offset at the end (docs/gateway.md 2.3).
 */
const executionDatePattern = new RegExp(
  String.raw`^(\d{4})-(\d{2})-(\d{2})(?:T| |[A-Z]{2,5}|[+-]\d{2}(?::?\d{2})?)` +
    String.raw`(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?$`,
);

export const executionDate: ValueRule = (value) => {
  const [year, month, day, hour, minute, second] = (executionDatePattern.exec(value) ?? [])
    .slice(1)
    .map(Number);
  const wrong = "must be a date and time like 2026-07-05T03:09:26";
  if (year === undefined || month === undefined || day === undefined) return wrong;
  const date = new Date(Date.UTC(year, month - 1, day));
  const real = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return real && (hour ?? 24) < 24 && (minute ?? 60) < 60 && (second ?? 60) < 60
    ? undefined
    : wrong;
};

/** Formats N and R of the tables, with their names in XML Schema. */
const typeRules: Readonly<Record<SimpleType, ValueRule | undefined>> = {
  string: undefined,
  int: matches(/^[+-]?\d{1,11}$/, "must be a whole number"),
  float: matches(/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/, "must be a number"),
  boolean: oneOf("0", "1", "true", "false"),
};

export function typeRule(type: SimpleType): ValueRule | undefined {
  return typeRules[type];
}
