import { AppError } from "../../../shared/catalog/errors.ts";

/**
 * A JSON number together with the text it was written as, so that amounts are never touched by a
 * float. Every number of a parsed body is one of these until {@link plain} is called.
 */
export class JsonNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  get value(): number {
    return Number(this.source);
  }
}

const NESTING_MAX = 32;

/**
 * Parses a request body: one JSON object. Keys that reach into prototypes and integers that a float
 * would change are refused, so that what is echoed is what came.
 */
export function parseJsonBody(text: string): Record<string, unknown> {
  let body: unknown;
  try {
    body = JSON.parse(text, (key, value: unknown, context?: { source?: string }) => {
      if (key === "__proto__") throw new SyntaxError("the key __proto__ is not allowed");
      if (typeof value !== "number") return value;
      const source = context?.source ?? String(value);
      if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
        throw new AppError("REQUEST_INVALID", `the number ${source} is too large`);
      }
      return new JsonNumber(source);
    });
  } catch (error) {
    if (error instanceof AppError) throw error;
    // RangeError: nested deeper than the parser's stack.
    throw new AppError("BODY_NOT_JSON", `The body is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(body)) throw new AppError("BODY_NOT_JSON", "The body must be one JSON object.");
  if (depthOf(body) > NESTING_MAX) {
    throw new AppError("BODY_NOT_JSON", `The body is nested deeper than ${NESTING_MAX} levels.`);
  }
  return body;
}

/** A JSON object, which an array and a {@link JsonNumber} are not. */
function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof JsonNumber)
  );
}

/** The value with ordinary numbers in it. */
export function plain(value: unknown): unknown {
  if (value instanceof JsonNumber) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

/** Every text and number in a value with the path to it; keys count as texts too. */
export function* leaves(value: unknown, path: string): Generator<{ path: string; text: string }> {
  if (typeof value === "string") yield { path, text: value };
  else if (value instanceof JsonNumber) yield { path, text: value.source };
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* leaves(item, `${path}[${index}]`);
  } else if (isObject(value)) {
    for (const [key, member] of Object.entries(value)) {
      yield { path: `a key of ${path || "the body"}`, text: key };
      yield* leaves(member, path === "" ? key : `${path}.${key}`);
    }
  }
}

function depthOf(root: unknown): number {
  let depth = 0;
  let level: unknown[] = [root];
  while (level.length > 0 && depth <= NESTING_MAX) {
    depth += 1;
    level = level.flatMap((value) =>
      Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [],
    );
  }
  return depth;
}
