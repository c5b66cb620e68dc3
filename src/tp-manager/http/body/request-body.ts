import { AppError } from "../../../shared/catalog/errors.ts";
import { parseJsonBody } from "./json-body.ts";

/**
 * Returns the JSON object of a body. Only UTF-8 without compression is accepted, because other
 * readers could understand anything else differently. Throws {@link AppError}.
 */
export function readBody(
  bytes: Buffer,
  contentType: string | undefined,
  contentEncoding: string | undefined,
): Record<string, unknown> {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? "")?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new AppError("CONTENT_TYPE_REFUSED", "The body must be UTF-8; leave the charset out.");
  }
  if (contentEncoding !== undefined && contentEncoding !== "identity") {
    throw new AppError("CONTENT_TYPE_REFUSED", "The body must not be compressed.");
  }
  const text = decode(bytes);
  const body = parseJsonBody(text);
  const twice = duplicateKeyIn(text);
  if (twice !== undefined) {
    throw new AppError("BODY_NOT_JSON", `The body names ${JSON.stringify(twice)} twice.`);
  }
  return body;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new AppError("BODY_NOT_JSON", "The body is not UTF-8.");
  }
}

/**
 * Returns the first member that a JSON text names twice in one object; undefined: there is none.
 * `JSON.parse` keeps the last value silently, other readers keep the first, and a payment must not
 * depend on that. Pure; the text must be valid JSON.
 */
export function duplicateKeyIn(json: string): string | undefined {
  /** One set of names for each open object; null for an open list. */
  const open: Array<Set<string> | null> = [];
  // Only strings and brackets matter; a name is a string before a colon.
  const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/gs;
  for (const [token, colon] of json.matchAll(tokens)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (colon !== undefined) {
      const name = JSON.parse(token.slice(0, token.length - colon.length)) as string;
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}
