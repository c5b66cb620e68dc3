import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../../shared/catalog/errors.ts";
import { AmountError, type Currency, parseAmount } from "../../../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../../shared/receipt.ts";
import { invalid } from "../../attempts/failures.ts";

/** The most levels of nesting in a body; the body itself is the first level. */
const NESTING_MAX = 32;

const numberTexts = new WeakMap<object, Map<string, string>>();

/**
 * Returns how a number was spelt in a parsed body, so that no amount passes through a float.
 * undefined: `holder` has no number of this name.
 */
function numberText(holder: unknown, name: string): string | undefined {
  return numberTexts.get(holder as object)?.get(name);
}

/**
 * Returns the JSON object of a request body. Only UTF-8 without compression is accepted, because
 * other readers could understand anything else differently. Throws {@link AppError}.
 */
export function readBody(
  bytes: Buffer,
  { "content-type": type = "", "content-encoding": encoding }: IncomingHttpHeaders,
): Record<string, unknown> {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type)?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new AppError("CONTENT_TYPE_REFUSED", "The body must be UTF-8; leave the charset out.");
  }
  if (encoding !== undefined && encoding !== "identity") {
    throw new AppError("CONTENT_TYPE_REFUSED", "The body must not be compressed.");
  }
  if (!isUtf8(bytes)) throw new AppError("BODY_NOT_JSON", "The body is not UTF-8.");
  const text = utf8.decode(bytes);
  const body = parse(text);
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new AppError("BODY_NOT_JSON", "The body must be one JSON object.");
  }
  const { levels, twice } = structureOf(text);
  if (levels > NESTING_MAX) {
    throw new AppError("BODY_NOT_JSON", `The body is nested deeper than ${NESTING_MAX} levels.`);
  }
  if (twice !== undefined) {
    throw new AppError("BODY_NOT_JSON", `The body names ${JSON.stringify(twice)} twice.`);
  }
  return body as Record<string, unknown>;
}

/** Decodes without the byte order mark that a text may begin with. */
const utf8 = new TextDecoder();

function parse(text: string): unknown {
  try {
    return JSON.parse(text, keepNumber);
  } catch (error) {
    if (error instanceof AppError) throw error;
    // A RangeError comes from a body that is nested too deeply for the parser.
    throw new AppError("BODY_NOT_JSON", `The body is not JSON: ${(error as Error).message}`);
  }
}

/**
 * Called by JSON.parse for each value: keeps the spelling of numbers for {@link numberText}. Throws
 * for the key `__proto__`, and for integers that a float would change.
 */
function keepNumber(this: object, key: string, value: unknown, context?: { source?: string }) {
  if (key === "__proto__") throw new SyntaxError("the key __proto__ is not allowed");
  if (typeof value !== "number") return value;
  const source = context?.source ?? String(value);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    throw new AppError("REQUEST_INVALID", `the number ${source} is too large`);
  }
  const texts = numberTexts.get(this) ?? new Map<string, string>();
  numberTexts.set(this, texts.set(key, source));
  return value;
}

/** Yields every text and number in a parsed body with its path; keys count as texts. */
export function* leaves(holder: object, path = ""): Generator<{ path: string; text: string }> {
  const isList = Array.isArray(holder);
  for (const [key, value] of Object.entries(holder)) {
    if (!isList) yield { path: `a key of ${path || "the body"}`, text: key };
    const here = isList ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    const text = typeof value === "string" ? value : numberText(holder, key);
    if (text !== undefined) yield { path: here, text };
    else if (typeof value === "object" && value !== null) yield* leaves(value, here);
  }
}

/**
 * Returns how many levels a JSON text has, and the first name that an object has twice.
 * `JSON.parse` keeps the last value of such a name and other programs the first, so such a body is
 * refused. The text must be valid JSON.
 */
function structureOf(json: string): { levels: number; twice: string | undefined } {
  const open: Array<Set<string> | null> = [];
  let levels = 1;
  let twice: string | undefined;
  // Matches only strings and brackets; a string before a colon is a name.
  const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{[]\s*[}\]]|[{}[\]]/gs;
  for (const [token, colon] of json.matchAll(tokens)) {
    if (token === "{" || token === "[") {
      open.push(token === "{" ? new Set() : null);
      levels = Math.max(levels, open.length + 1);
    } else if (token === "}" || token === "]") open.pop();
    else if (colon !== undefined) {
      const name = JSON.parse(token.slice(0, token.length - colon.length)) as string;
      const names = open.at(-1);
      if (names?.has(name)) twice ??= name;
      names?.add(name);
    }
  }
  return { levels, twice };
}

/**
 * Returns the `amount` of a body in minor units, read from its text and not from a float.
 * undefined: the body has no amount, or `refuse` took the fault of an amount that is not valid.
 */
export function readAmount(
  body: unknown,
  currency: Currency,
  refuse = (message: string): void => {
    throw invalid("amount", message);
  },
): number | undefined {
  const text = numberText(body, "amount");
  try {
    return text === undefined ? undefined : parseAmount(text, currency, RECEIPT_AMOUNT_DIGITS);
  } catch (error) {
    if (!(error instanceof AmountError)) throw error;
    refuse(error.message);
    return undefined;
  }
}
