import { z } from "zod";

/** Texts by name, as they stand in free fields of a message (docs/nexo.md 1.2). */
type Pairs = ReadonlyMap<string, string>;

const texts = z.record(z.string(), z.unknown());

/** Reads `name=value&name=value`, percent-encoded; a part without `=` has the value "". */
export function readPairs(text: string): Pairs {
  const parts = text.split("&").filter(Boolean);
  return new Map(
    parts.map((part) => {
      const [name = "", ...values] = part.split("=");
      return [decoded(name), decoded(values.join("="))] as const;
    }),
  );
}

export function writePairs(pairs: Readonly<Record<string, string>>): string {
  const encoded = Object.entries(pairs).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  return encoded.join("&");
}

/**
 * Reads the member AdditionalResponse, which an account's setting makes form-encoded pairs or
 * base64 of a JSON object. A text that is neither becomes the value of "message".
 */
export function readAdditional(text: string | undefined): Pairs {
  if (!text) return new Map();
  const json = jsonPairs(text);
  if (json) return json;
  return text.includes("=") ? readPairs(text) : new Map([["message", text]]);
}

function jsonPairs(text: string): Pairs | undefined {
  if (!/^[A-Za-z0-9+/\s]+={0,2}$/.test(text)) return undefined;
  try {
    const { data } = texts.safeParse(JSON.parse(Buffer.from(text, "base64").toString("utf8")));
    // Some accounts put the pairs into a member of this name, others into the object itself.
    const inner = texts.safeParse(data?.["additionalData"]).data;
    const pairs = data && Object.entries(inner ? { ...data, ...inner } : data);
    return pairs && new Map(pairs.map(([name, value]) => [name, String(value)]));
  } catch {
    return undefined;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
