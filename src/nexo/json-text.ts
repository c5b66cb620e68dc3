import { NexoCodecError } from "./errors.ts";

/** Deeper texts are refused; the deepest recorded message has eleven levels. */
const NESTING_MAX = 40;

/**
 * Reads a JSON object in which every number becomes the text as which it was written, so that no
 * amount passes through a float. Real terminals also write numbers and booleans as texts, and
 * `null` for a member that is not there (docs/nexo.md 1.1). Throws {@link NexoCodecError} "json".
 */
export function readObject(text: string): Readonly<Record<string, unknown>> {
  const value = isDeep(text) ? undefined : parsed(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new NexoCodecError("json", "the text is no JSON object");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text, asRead);
  } catch {
    return undefined;
  }
}

function asRead(_key: string, value: unknown, context?: { readonly source?: string }) {
  if (value === null) return undefined;
  return typeof value === "number" ? (context?.source ?? String(value)) : value;
}

/** In one pass: a pattern takes quadratic time on a text with a string that never ends. */
function isDeep(text: string): boolean {
  let [depth, isString, isEscaped] = [0, false, false];
  for (const character of text) {
    if (isString) {
      isString = isEscaped || character !== '"';
      isEscaped = !isEscaped && character === "\\";
    } else if (character === '"') isString = true;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth > NESTING_MAX) return true;
  }
  return false;
}
