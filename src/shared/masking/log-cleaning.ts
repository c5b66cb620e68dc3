import { pino } from "pino";
import { maskPansInText } from "./mask.ts";

/** The names, in lower case, of members of logged objects that hold secrets or card data. */
const secretNames = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "set-cookie",
  "token",
  "x-connector-token",
  "track1",
  "track2",
  "track3",
  "pan",
  "pin",
  "cvc",
  "cvv",
  "redirecturl",
]);

/** The endings of names of passwords and shared secrets, such as wsPassword and GATEWAY_PWD. */
const secretEnding = /(password|passphrase|passwd|pwd|secrets?)$/i;

const REMOVED = "[removed]";

/** The depth to which a logged object is copied; no library logs a deeper object. */
const DEPTH_MAX = 12;

/**
 * Returns a copy of a logged object without secrets, which are found by name at every depth, even
 * inside errors and their causes. A number that contains a card number becomes masked text, so that
 * the line stays JSON. Never throws, because a log call must not break the work that it reports.
 */
export function withoutSecrets(logged: object): Record<string, unknown> {
  try {
    return cleanEntries(logged, [logged], requestNames);
  } catch (error) {
    return { unreadable: error instanceof Error ? error.message : "threw" };
  }
}

/** HTTP requests and responses, of which logger.ts logs only a few chosen parts. */
const requestNames: readonly string[] = ["req", "res"];

function cleanEntries(
  object: object,
  path: readonly object[],
  left: readonly string[] = [],
): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(object).map((name) => {
      const isSecret = secretNames.has(name.toLowerCase()) || secretEnding.test(name);
      if (isSecret) return [name, REMOVED];
      const value = propertyOf(object, name);
      return [name, left.includes(name) ? value : cleanValue(value, path)];
    }),
  );
}

function propertyOf(object: object, name: string): unknown {
  try {
    return (object as Record<string, unknown>)[name];
  } catch (error) {
    return `[unreadable: ${error instanceof Error ? error.message : "threw"}]`;
  }
}

function cleanValue(value: unknown, path: readonly object[]): unknown {
  if (typeof value === "bigint" || typeof value === "number") return cleanNumber(value);
  if (typeof value !== "object" || value === null) return value;
  if (path.includes(value)) return "[circular]";
  if (path.length > DEPTH_MAX) return "[too deep]";
  const inner = [...path, value];
  try {
    if (value instanceof Error) return cleanEntries(pino.stdSerializers.err(value), inner);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    const json: unknown = "toJSON" in value ? (value as { toJSON(): unknown }).toJSON() : value;
    if (json !== value) return cleanValue(json, inner);
    if (Array.isArray(value)) return value.map((item) => cleanValue(item, inner));
    if (value instanceof Map) return cleanEntries(Object.fromEntries(value), inner);
    if (value instanceof Set) return [...value].map((item) => cleanValue(item, inner));
    return cleanEntries(value, inner);
  } catch (error) {
    return `[unreadable: ${error instanceof Error ? error.message : "threw"}]`;
  }
}

function cleanNumber(value: number | bigint): unknown {
  const text = String(value);
  return typeof value === "bigint" || maskPansInText(text) !== text ? maskPansInText(text) : value;
}

/** The patterns of credentials inside longer texts: header lines, SOAP envelopes, addresses. */
const patterns = [
  /\b(Basic|Bearer) [\w.~+/=-]+/,
  /(<(?:\w+:)?(?:wsPassword|password)\b[^>]*>)[^<]*/,
  /:\/\/[^\s"'<>/?#]+(?=@)/,
];
const textSecrets = new RegExp(patterns.map(({ source }) => source).join("|"), "gi");

/** Masks the card numbers and removes the credentials in a finished log line. */
export function cleanLine(line: string): string {
  return maskPansInText(line).replace(
    textSecrets,
    (_all, scheme: string | undefined, tag: string | undefined) =>
      scheme ? `${scheme} ${REMOVED}` : `${tag ?? "://"}${REMOVED}`,
  );
}
