import { AppError } from "../../../shared/catalog/errors.ts";

/**
 * A JSON number with the text it was written as, so that no amount passes through a float. Every
 * number of a parsed body is a JsonNumber until {@link plain} is called.
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
 * Parses a request body: one JSON object. It refuses keys that reach into prototypes, and integers
 * that a float would change, so that the answer echoes exactly what came.
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
    // A RangeError comes from a body that is nested too deeply for the parser.
    throw new AppError("BODY_NOT_JSON", `The body is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(body)) throw new AppError("BODY_NOT_JSON", "The body must be one JSON object.");
  if (depthOf(body) > NESTING_MAX) {
    throw new AppError("BODY_NOT_JSON", `The body is nested deeper than ${NESTING_MAX} levels.`);
  }
  return body;
}

/** Whether a value is a JSON object; an array and a {@link JsonNumber} are none. */
function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof JsonNumber)
  );
}

/** Returns the value with ordinary numbers in place of every {@link JsonNumber}. */
export function plain(value: unknown): unknown {
  if (value instanceof JsonNumber) return value.value;
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

/** Yields every text and number in a value with its path; keys count as texts. */
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
