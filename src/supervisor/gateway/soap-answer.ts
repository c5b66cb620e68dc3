import { XMLParser, XMLValidator } from "fast-xml-parser";
import { readPlainAnswer } from "./plain-answer.ts";

/** The content of a SOAP answer, whatever the HTTP status. */
export type SoapAnswer =
  | {
      readonly kind: "result";
      readonly code: number;
      readonly description: string;
      readonly fields: ReadonlyMap<string, string>;
    }
  | { readonly kind: "fault"; readonly faultCode: string; readonly description: string }
  | { readonly kind: "unreadable"; readonly why: string };

const NESTED_TAGS_MAX = 20;

const parser = new XMLParser({
  ignoreAttributes: true,
  removeNSPrefix: true, // servers choose different namespace prefixes (docs/gateway.md 2.5)
  parseTagValue: false,
  processEntities: true,
  htmlEntities: true, // numeric character references
  maxNestedTags: NESTED_TAGS_MAX,
});

/**
 * Reads `<operation>Response/<operation>Result` or a Fault out of an envelope. Money depends on the
 * result, so there must be exactly one result, with one whole-number code. A document type is
 * refused, because it could define entities.
 */
export function readSoapAnswer(operation: string, text: string): SoapAnswer {
  const plain = readPlainAnswer(operation, text);
  return plain ? resultOf(plain) : readStrictly(operation, text);
}

function readStrictly(operation: string, text: string): SoapAnswer {
  if (text.trim() === "") return unreadable("empty");
  if (/<!DOCTYPE/i.test(text)) return unreadable("has a document type");
  const document = parseXml(text, parser);
  if (!document) return unreadable("not well-formed XML");
  const roots = Object.keys(document).filter((name) => name !== "?xml");
  if (roots.length !== 1) return unreadable("not one root element");
  const body = only(only(document, "Envelope"), "Body");
  if (!body) return unreadable("no SOAP envelope");
  // The body must have one element: a result with a Fault or a second result is contradictory.
  const answers = Object.keys(body).filter((name) => !name.startsWith("#"));
  if (answers.length !== 1) return unreadable("not one element in the body");
  const fault = only(body, "Fault");
  if (fault) {
    const faultCode = textOf(fault["faultcode"]) ?? "";
    return { kind: "fault", faultCode, description: textOf(fault["faultstring"]) ?? "" };
  }
  const result = only(only(body, `${operation}Response`), `${operation}Result`);
  if (!result) return unreadable(`no ${operation}Result`);
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(result)) {
    const content = textOf(value);
    if (content !== undefined) fields.set(name, content);
  }
  return resultOf(fields);
}

function resultOf(fields: ReadonlyMap<string, string>): SoapAnswer {
  const code = fields.get("code")?.trim() ?? "";
  if (!/^-?\d{1,9}$/.test(code)) return unreadable("the result has no whole-number code");
  return {
    kind: "result",
    code: Number(code),
    description: fields.get("description") ?? "",
    fields,
  };
}

type Element = Record<string, unknown>;

/** Parses XML; undefined: the text is not well-formed, nested too deep or has a forbidden name. */
export function parseXml(text: string, by: XMLParser): Element | undefined {
  try {
    return XMLValidator.validate(text) === true ? by.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the only child element with a name; undefined: none, several, or only text. */
function only(parent: Element | undefined, name: string): Element | undefined {
  const child = parent && Object.hasOwn(parent, name) ? parent[name] : undefined;
  return typeof child === "object" && child !== null && !Array.isArray(child)
    ? (child as Element)
    : undefined;
}

/** Returns the text of an element; undefined: the element is missing, repeated or has children. */
function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function unreadable(why: string): SoapAnswer {
  return { kind: "unreadable", why };
}
