/** The value of a JSON text; undefined when the text is none, which every schema refuses. */
export function parseJson(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
