/**
 * The first member that a JSON text names twice in one object, or undefined. `JSON.parse` keeps the
 * last one silently, other readers the first: a payment must not depend on that. Pure; the text
 * must be valid JSON.
 */
export function duplicateKeyIn(json: string): string | undefined {
  /** One set of names for each open object; null for an open list. */
  const open: Array<Set<string> | null> = [];
  // Strings, brackets, and nothing else matter; a name is a string before a colon.
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
