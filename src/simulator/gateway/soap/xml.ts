import { isUtf8 } from "node:buffer";
import { XMLParser, XMLValidator } from "fast-xml-parser";

/** An element of an XML document; prefixes are replaced by their namespaces. */
export interface XmlElement {
  readonly name: string;
  /** The name of the namespace; "": the element has no namespace. */
  readonly namespace: string;
  /** The values of the attributes, by `name` or, in a namespace, by `{namespace}name`. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** All character data directly inside the element, joined. */
  readonly text: string;
}

/** Returns the first child with this local name, whatever its namespace. */
export function childNamed(parent: XmlElement, name: string): XmlElement | undefined {
  return parent.children.find((child) => child.name === name);
}

const SOAP_NAMESPACE = "http://schemas.xmlsoap.org/soap/envelope/";

/** The fault codes (SOAP 1.1 chapter 4.4.1). */
type FaultCode = "Client" | "Server" | "VersionMismatch" | "MustUnderstand";

/** The refusal of a request that names no operation; it is answered with a SOAP fault. */
export class SoapFault extends Error {
  override readonly name = "SoapFault";
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Throws {@link SoapFault}: the document is malformed, or has parts that no request needs. */
function refuse(why: string, cause?: unknown): never {
  throw new SoapFault("Client", `the request is not readable XML: ${why}`, { cause });
}

/** The deepest nesting of elements that is read; an order request has five levels. */
const DEPTH_MAX = 24;

/** The largest number of elements that is read; a full cart has some hundred. */
const ELEMENTS_MAX = 20_000;

const TEXT = "#text";
const CDATA = "#cdata";
const ATTRIBUTES = ":@";
const XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace";

/** Entities are left undecoded: {@link decode} accepts only the entities of XML itself. */
const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: "",
  textNodeName: TEXT,
  cdataPropName: CDATA,
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  processEntities: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: DEPTH_MAX,
});

/**
 * Reads a document from its bytes. Throws {@link SoapFault} for anything that is not well-formed
 * UTF-8 XML 1.0, for a document type declaration, and for too many levels or elements.
 */
export function readXml(bytes: Buffer): XmlElement {
  if (!isUtf8(bytes)) refuse("not UTF-8: convert the request to UTF-8 before sending");
  // Line ends become line feeds (XML 1.0 chapter 2.11).
  const text = bytes
    .toString("utf8")
    .replace(/^\ufeff/, "")
    .replace(/\r\n?/g, "\n");
  const declared = /^<\?xml[^>]*?\bencoding\s*=\s*["']([^"']*)["']/.exec(text)?.[1] ?? "utf-8";
  if (!/^(utf-?8|us-ascii)$/i.test(declared)) {
    refuse(`encoding ${declared} is declared: only UTF-8 is read`);
  }
  if (/<!DOCTYPE|<!ENTITY/i.test(text)) refuse("a document type declaration is not allowed");
  if (hasIllegalCharacter(text)) refuse("a character is not allowed in XML");
  const verdict = XMLValidator.validate(text);
  if (verdict !== true) refuse(`${verdict.err.msg} (line ${verdict.err.line})`);
  // The parser would ignore text after a root element of the form `<x/>`.
  if (!text.trimEnd().endsWith(">")) refuse("text after the root element");
  return soleRoot(parsed(text));
}

function parsed(text: string): Node[] {
  try {
    return parser.parse(text) as Node[];
  } catch (error) {
    return refuse((error as Error).message, error);
  }
}

/** Returns whether a text has a character that XML excludes (XML 1.0 chapter 2.2). */
function hasIllegalCharacter(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the search is for these characters
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text);
}

type Node = Record<string, unknown>;

function soleRoot(nodes: Node[]): XmlElement {
  const [root, ...others] = nodes.filter((node) => !(TEXT in node));
  const extra = nodes.some((node) => TEXT in node && String(node[TEXT]).trim() !== "");
  if (!root || others.length > 0 || extra || CDATA in root) {
    refuse("a document has exactly one root element");
  }
  return toElement(root, new Map([["xml", XML_NAMESPACE]]), { elements: 0 });
}

/** The namespaces in force at an element, by prefix; "" is the default namespace. */
type Scope = ReadonlyMap<string, string>;

const isDeclaration = ([name]: readonly [string, string]): boolean => /^xmlns(:|$)/.test(name);

function toElement(node: Node, outer: Scope, count: { elements: number }): XmlElement {
  if (++count.elements > ELEMENTS_MAX) refuse("too many elements");
  const qualified = Object.keys(node).find((key) => key !== ATTRIBUTES) ?? "";
  const written = Object.entries((node[ATTRIBUTES] ?? {}) as Record<string, unknown>).map(
    ([name, value]) => [name, decode(String(value))] as const,
  );
  const declared = written.filter(isDeclaration);
  const scope = new Map([
    ...outer,
    ...declared.map(([name, value]) => [name.slice("xmlns:".length), value] as const),
  ]);
  const attributes = written
    .filter((attribute) => !isDeclaration(attribute))
    .map(([attribute, value]) => {
      const { name, namespace } = resolve(attribute, scope, "");
      return [namespace === "" ? name : `{${namespace}}${name}`, value] as const;
    });
  const content = node[qualified] as Node[];
  return {
    ...resolve(qualified, scope, scope.get("") ?? ""),
    attributes: new Map(attributes),
    children: content
      .filter((child) => !(TEXT in child) && !(CDATA in child))
      .map((child) => toElement(child, scope, count)),
    text: content.map(characterData).join(""),
  };
}

/** Splits a name into local name and namespace; `unprefixed`: the namespace without a prefix. */
function resolve(qualified: string, scope: Scope, unprefixed: string) {
  const colon = qualified.indexOf(":");
  if (colon < 0) return { name: qualified, namespace: unprefixed };
  const namespace = scope.get(qualified.slice(0, colon));
  const name = qualified.slice(colon + 1);
  if (namespace === undefined || name === "" || name.includes(":")) {
    return refuse(`the prefix of ${qualified} is not declared`);
  }
  return { name, namespace };
}

function characterData(node: Node): string {
  if (TEXT in node) return decode(String(node[TEXT]));
  if (CDATA in node) return (node[CDATA] as Node[]).map((part) => String(part[TEXT])).join("");
  return "";
}

const named = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }));

/** Returns the text with the five named entities and the numbers replaced (XML 1.0 chapter 4.6). */
function decode(text: string): string {
  return text.replace(/&([^;&]{0,12});?/g, (reference, body: string) => {
    const value = reference.endsWith(";") ? (named.get(body) ?? numbered(body)) : undefined;
    if (value === undefined) refuse(`unknown entity ${reference}`);
    return value;
  });
}

function numbered(body: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(body) ?? [];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  if (!(code <= 0x10ffff)) return undefined;
  const character = String.fromCodePoint(code);
  return character.isWellFormed() && !hasIllegalCharacter(character) ? character : undefined;
}

/**
 * Returns an element in the form that every known reader of signed notifications accepts
 * (docs/gateway.md 3.4): no blanks between elements, only & < > escaped. `name` has the prefix;
 * `content` is a text or the child elements.
 */
export function xml(
  name: string,
  content: string | readonly string[] = "",
  attributes: Readonly<Record<string, string>> = {},
): string {
  const inner = typeof content === "string" ? escapeText(content) : content.join("");
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeText(value).replaceAll('"', "&quot;")}"`)
    .join("");
  const start = `<${name}${written}`;
  return inner === "" ? `${start}/>` : `${start}>${inner}</${name}>`;
}

export function xmlDocument(root: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root}`;
}

function escapeText(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/** Returns the first element of the SOAP body, whose name is the operation. */
export function readEnvelope(request: Buffer): XmlElement {
  const envelope = readXml(request);
  if (envelope.name !== "Envelope") {
    throw new SoapFault("Client", `the root element is ${envelope.name}, not a SOAP Envelope`);
  }
  if (envelope.namespace !== SOAP_NAMESPACE) {
    throw new SoapFault("VersionMismatch", "only SOAP 1.1 envelopes are read");
  }
  // A mandatory header (mustUnderstand, SOAP 1.1 chapter 4.2.3) is refused: no header is known.
  const demanding = childNamed(envelope, "Header")?.children.find(
    ({ attributes }) => attributes.get(`{${SOAP_NAMESPACE}}mustUnderstand`) === "1",
  );
  if (demanding) {
    throw new SoapFault("MustUnderstand", `the header ${demanding.name} is not understood`);
  }
  const operation = childNamed(envelope, "Body")?.children[0];
  if (!operation) throw new SoapFault("Client", "the SOAP Body holds no operation element");
  return operation;
}

/**
 * Returns the answer of an operation. Prefixes and the bare name of the result element are fixed,
 * because real clients read them by name (docs/gateway.md 2.5). `times`: how often the result
 * stands in the answer; the fault `answer-twice` sends it twice.
 */
export function responseEnvelope(
  operation: string,
  namespace: string,
  result: ReadonlyArray<readonly [name: string, value: string]>,
  times = 1,
): string {
  const children = result.map(([name, value]) => xml(name, value));
  const results = Array.from({ length: times }, () => xml(`${operation}Result`, children));
  return envelope([xml(`ns1:${operation}Response`, results)], { "xmlns:ns1": namespace });
}

export function faultEnvelope(code: FaultCode, message: string): string {
  return envelope([
    xml("SOAP-ENV:Fault", [xml("faultcode", `SOAP-ENV:${code}`), xml("faultstring", message)]),
  ]);
}

function envelope(body: readonly string[], namespaces: Record<string, string> = {}): string {
  return xmlDocument(
    xml("SOAP-ENV:Envelope", [xml("SOAP-ENV:Body", body)], {
      "xmlns:SOAP-ENV": SOAP_NAMESPACE,
      ...namespaces,
    }),
  );
}
