import { readOr } from "./read-or.ts";

/** Returns the value of a JSON text; undefined, which every schema refuses, if it is no JSON. */
export function parseJson(text: string | null): unknown {
  return readOr(undefined, () => (text === null ? undefined : JSON.parse(text)));
}
