import { XMLParser, XMLValidator } from "fast-xml-parser";

/** One element of a document that was read, prefixes resolved. */
export interface XmlElement {
  /** Local name, without prefix. */
  readonly name: string;
  /** Namespace name, "" for none. */
  readonly namespace: string;
  /** Attributes without namespace under their name, others as `{namespace}name`. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** All character data directly inside, in order. */
  readonly text: string;
}

/** Returns the first child with this local name, whatever its namespace. */
export function childNamed(parent: XmlElement, name: string): XmlElement | undefined {
  return parent.children.find((child) => child.name === name);
}

/** A document that is refused: it is broken, or has parts that no request needs. */
export class XmlRefused extends Error {
  override readonly name = "XmlRefused";
}

/** The deepest document that is read; an order request has five levels. */
const DEPTH_MAX = 24;

/** The most elements that are read; a full cart has some hundred. */
const ELEMENTS_MAX = 20_000;

const TEXT = "#text";
const CDATA = "#cdata";
const ATTRIBUTES = ":@";
const XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace";

/** Entities stay as they are written: {@link decode} knows the five of XML and no others. */
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
 * Reads a document from its bytes. Throws {@link XmlRefused} for anything that is not well-formed
 * UTF-8 XML 1.0, for a document type declaration and for unusual depth or number of elements.
 */
export function readXml(bytes: Uint8Array): XmlElement {
  // Line ends become line feeds (XML 1.0 chapter 2.11).
  const text = decodeUtf8(bytes).replace(/\r\n?/g, "\n");
  refuseOtherEncoding(text);
  if (/<!DOCTYPE|<!ENTITY/i.test(text)) {
    throw new XmlRefused("a document type declaration is not allowed");
  }
  // XML 1.0 chapter 2.2 excludes some characters.
  if (hasIllegalCharacter(text)) throw new XmlRefused("a character is not allowed in XML");
  const verdict = XMLValidator.validate(text);
  if (verdict !== true) {
    throw new XmlRefused(`${verdict.err.msg} (line ${verdict.err.line})`);
  }
  // The library leaves out text after a root element that closes itself.
  if (!text.trimEnd().endsWith(">")) throw new XmlRefused("text after the root element");
  return soleRoot(
    refusing(
      () => parser.parse(text) as Node[],
      ({ message }) => new XmlRefused(message),
    ),
  );
}

function decodeUtf8(bytes: Uint8Array): string {
  return refusing(
    () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    () => new XmlRefused("not UTF-8: convert the request to UTF-8 before sending"),
  );
}

/** Returns the result of `work`; what it throws is the cause of the refusal. */
function refusing<T>(work: () => T, refusal: (error: Error) => Error): T {
  try {
    return work();
  } catch (error) {
    throw Object.assign(refusal(error as Error), { cause: error });
  }
}

function refuseOtherEncoding(text: string): void {
  const declared = /^<\?xml[^>]*?\bencoding\s*=\s*["']([^"']*)["']/.exec(text)?.[1];
  if (declared !== undefined && !/^(utf-?8|us-ascii)$/i.test(declared)) {
    throw new XmlRefused(`encoding ${declared} is declared: only UTF-8 is read`);
  }
}

function hasIllegalCharacter(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text);
}

type Node = Record<string, unknown>;

function soleRoot(nodes: Node[]): XmlElement {
  const [root, ...others] = nodes.filter((node) => !(TEXT in node));
  const extra = nodes.some((node) => TEXT in node && String(node[TEXT]).trim() !== "");
  if (!root || others.length > 0 || extra || CDATA in root) {
    throw new XmlRefused("a document has exactly one root element");
  }
  return toElement(root, new Map([["xml", XML_NAMESPACE]]), { elements: 0 });
}

type Scope = ReadonlyMap<string, string>;

function toElement(node: Node, outer: Scope, count: { elements: number }): XmlElement {
  if (++count.elements > ELEMENTS_MAX) throw new XmlRefused("too many elements");
  const qualified = Object.keys(node).find((key) => key !== ATTRIBUTES) ?? "";
  const written = Object.entries((node[ATTRIBUTES] ?? {}) as Record<string, unknown>).map(
    ([name, value]) => [name, decode(String(value))] as const,
  );
  const scope = innerScope(outer, written);
  const content = node[qualified] as Node[];
  const { name, namespace } = resolve(qualified, scope, scope.get("") ?? "");
  return {
    name,
    namespace,
    attributes: new Map(written.flatMap((attribute) => attributeEntry(attribute, scope))),
    children: content
      .filter((child) => !(TEXT in child) && !(CDATA in child))
      .map((child) => toElement(child, scope, count)),
    text: content.map(characterData).join(""),
  };
}

function innerScope(outer: Scope, written: ReadonlyArray<readonly [string, string]>): Scope {
  const declared = written.flatMap(([name, value]): [string, string][] => {
    if (name === "xmlns") return [["", value]];
    return name.startsWith("xmlns:") ? [[name.slice("xmlns:".length), value]] : [];
  });
  return declared.length === 0 ? outer : new Map([...outer, ...declared]);
}

function attributeEntry(
  [qualified, value]: readonly [string, string],
  scope: Scope,
): [string, string][] {
  if (qualified === "xmlns" || qualified.startsWith("xmlns:")) return [];
  const { name, namespace } = resolve(qualified, scope, "");
  return [[namespace === "" ? name : `{${namespace}}${name}`, value]];
}

function resolve(
  qualified: string,
  scope: Scope,
  unprefixed: string,
): { name: string; namespace: string } {
  const colon = qualified.indexOf(":");
  if (colon < 0) return { name: qualified, namespace: unprefixed };
  const namespace = scope.get(qualified.slice(0, colon));
  const name = qualified.slice(colon + 1);
  if (namespace === undefined || name === "" || name.includes(":")) {
    throw new XmlRefused(`the prefix of ${qualified} is not declared`);
  }
  return { name, namespace };
}

function characterData(node: Node): string {
  if (TEXT in node) return decode(String(node[TEXT]));
  if (CDATA in node) return (node[CDATA] as Node[]).map((part) => String(part[TEXT])).join("");
  return "";
}

const named = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }));

/** Returns the text with its entities replaced: five names and numbers (XML 1.0 chapter 4.6). */
function decode(text: string): string {
  return text.replace(/&([^;&]{0,12});?/g, (reference, body: string) => {
    const value = reference.endsWith(";") ? (named.get(body) ?? numbered(body)) : undefined;
    if (value === undefined) throw new XmlRefused(`unknown entity ${reference}`);
    return value;
  });
}

function numbered(body: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(body) ?? [];
  if (hex === undefined && decimal === undefined) return undefined;
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined;
  const character = String.fromCodePoint(code);
  return hasIllegalCharacter(character) ? undefined : character;
}

/** One element as it is written. */
export interface XmlOutput {
  readonly text: string;
}

/**
 * Writes an element in the form that every known reader of signed notifications accepts
 * (docs/gateway.md 3.4): no blanks between elements, `<x/>` when empty, only & < > escaped, other
 * characters literal, line feeds only. Names are given with prefix.
 */
export function xml(
  name: string,
  content: string | readonly XmlOutput[] = "",
  attributes: Readonly<Record<string, string>> = {},
): XmlOutput {
  const inner =
    typeof content === "string" ? escapeText(content) : content.map(({ text }) => text).join("");
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeText(value).replaceAll('"', "&quot;")}"`)
    .join("");
  const start = `<${name}${written}`;
  return { text: inner === "" ? `${start}/>` : `${start}>${inner}</${name}>` };
}

/** Returns a whole document: declaration, line feed, root element, nothing after it. */
export function xmlDocument(root: XmlOutput): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${root.text}`;
}

function escapeText(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

const SOAP_NAMESPACE = "http://schemas.xmlsoap.org/soap/envelope/";

/** The fault codes (SOAP 1.1 chapter 4.4.1). */
type FaultCode = "Client" | "Server" | "VersionMismatch" | "MustUnderstand";

/** A request that cannot be dispatched: the only case in which a SOAP fault is right. */
export class SoapFault extends Error {
  override readonly name = "SoapFault";
  readonly code: FaultCode;

  constructor(code: FaultCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Returns the first element of the body, whose name chooses the operation. */
export function readEnvelope(body: Uint8Array): XmlElement {
  const envelope = refusing(
    () => readXml(body),
    ({ message }) => new SoapFault("Client", `the request is not readable XML: ${message}`),
  );
  if (envelope.name !== "Envelope") {
    throw new SoapFault("Client", `the root element is ${envelope.name}, not a SOAP Envelope`);
  }
  if (envelope.namespace !== SOAP_NAMESPACE) {
    throw new SoapFault("VersionMismatch", "only SOAP 1.1 envelopes are read");
  }
  refuseMandatoryHeaders(childNamed(envelope, "Header"));
  const operation = childNamed(envelope, "Body")?.children[0];
  if (!operation) throw new SoapFault("Client", "the SOAP Body holds no operation element");
  return operation;
}

/** Throws {@link SoapFault} for a header that must be understood (SOAP 1.1 chapter 4.2.3). */
function refuseMandatoryHeaders(header: XmlElement | undefined): void {
  const demanding = header?.children.find(
    ({ attributes }) => attributes.get(`{${SOAP_NAMESPACE}}mustUnderstand`) === "1",
  );
  if (demanding) {
    throw new SoapFault("MustUnderstand", `the header ${demanding.name} is not understood`);
  }
}

/**
 * Returns the answer of an operation. Prefixes and bare result element are fixed: real clients read
 * them by name (docs/gateway.md 2.5). `times`: a broken answer has its result more than once.
 */
export function responseEnvelope(
  operation: string,
  namespace: string,
  result: ReadonlyArray<readonly [name: string, value: string]>,
  times = 1,
): string {
  const children = result.map(([name, value]) => xml(name, value));
  const results = Array.from({ length: times }, () => xml(`${operation}Result`, children));
  return envelope([xml(`ns1:${operation}Response`, results)], {
    "xmlns:ns1": namespace,
  });
}

export function faultEnvelope(code: FaultCode, message: string): string {
  return envelope([
    xml("SOAP-ENV:Fault", [xml("faultcode", `SOAP-ENV:${code}`), xml("faultstring", message)]),
  ]);
}

function envelope(body: readonly XmlOutput[], namespaces: Record<string, string> = {}): string {
  return xmlDocument(
    xml("SOAP-ENV:Envelope", [xml("SOAP-ENV:Body", body)], {
      "xmlns:SOAP-ENV": SOAP_NAMESPACE,
      ...namespaces,
    }),
  );
}
