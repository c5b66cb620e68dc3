import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../../../shared/catalog/errors.ts";

/** The most levels of a body: the body is the first, its members are the second. */
const NESTING_MAX = 32;

/** The texts of the numbers in parsed bodies, by the object or list that holds each number. */
const numberTexts = new WeakMap<object, Map<string, string>>();

/**
 * Returns the text of a number that a parsed body, or a part of it, has under a name, so that no
 * amount passes through a float. Undefined: there is no number of this name.
 */
export function numberText(holder: unknown, name: string): string | undefined {
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
  const text = decode(bytes);
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

const utf8 = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new AppError("BODY_NOT_JSON", "The body is not UTF-8.");
  }
}

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
 * Keeps the text of a number for {@link numberText}. Refuses keys that reach into prototypes, and
 * integers that a float would change, so that the answer echoes exactly what came.
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
 * Returns how many levels a JSON text has, and the first member that one object names twice;
 * undefined: no name comes twice. `JSON.parse` silently keeps the last value, other readers keep
 * the first, and no payment may depend on this difference. Pure; the text must be valid JSON.
 */
function structureOf(json: string): { levels: number; twice: string | undefined } {
  /** The names used so far in each object that is open; null for a list that is open. */
  const open: Array<Set<string> | null> = [];
  let levels = 1;
  let twice: string | undefined;
  // Finds strings and brackets, which alone matter; a string before a colon is a name.
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
