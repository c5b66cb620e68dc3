/** One element to be written. `content` is text, or elements; names are given with prefix. */
export interface XmlOutput {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly content?: string | readonly XmlOutput[];
}

export function xml(
  name: string,
  content: string | readonly XmlOutput[] = "",
  attributes: Readonly<Record<string, string>> = {},
): XmlOutput {
  return { name, attributes, content };
}

/** A whole document: declaration, line feed, root element, nothing after it. */
export function xmlDocument(root: XmlOutput): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${xmlElement(root)}`;
}

/**
 * The form every known reader of signed notifications accepts (docs/gateway.md 3.4): no blanks
 * between elements, `<x/>` when empty, only & < > escaped, other characters literal, line feeds
 * only.
 */
export function xmlElement({ name, attributes = {}, content = "" }: XmlOutput): string {
  const inner =
    typeof content === "string" ? escapeText(content) : content.map(xmlElement).join("");
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeAttribute(value)}"`)
    .join("");
  return inner === "" ? `<${name}${written}/>` : `<${name}${written}>${inner}</${name}>`;
}

function escapeText(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', "&quot;");
}
