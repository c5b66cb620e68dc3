/*
 * This file reads SOAP answers in the form that gateways write: an envelope, a body, one response
 * and one result with texts, and nothing between the elements. The XML parser of soap-answer.ts
 * reads any other form; a test proves that the two readers agree.
 */

const NAME = "[A-Za-z][A-Za-z0-9_-]*";
const ATTRIBUTES = `((?: ${NAME}(?::${NAME})?="[^"<&]*")*)`;
/** The pattern of text without markup, references and control characters. */
const TEXT = "[^<&\\x00-\\x1f\\x7f-\\x9f\\ufffe\\uffff]*";

const opening = new RegExp(
  `^(?:<\\?xml version="1\\.0"(?: encoding="(?:utf|UTF)-8")?\\?>\\n?)?` +
    `<(${NAME}):Envelope${ATTRIBUTES}><\\1:Body${ATTRIBUTES}>` +
    `<(${NAME}):(${NAME})Response${ATTRIBUTES}><\\5Result${ATTRIBUTES}>`,
);
/** The pattern of an element with a text; its parts exclude each other, for linear time. */
const leaf = new RegExp(
  `<(${NAME})${ATTRIBUTES}>(${TEXT}(?:&(?:amp|lt|gt|quot|apos);${TEXT})*)</\\1>`,
  "y",
);

const references: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
};

/** Returns the texts of `<operation>Result` by name; undefined: the answer has another form. */
export function readPlainAnswer(operation: string, text: string): Map<string, string> | undefined {
  const head = opening.exec(text);
  if (!head) return undefined;
  const [all, envelope, ofEnvelope, ofBody, prefix, named, ofResponse, ofResult] = head;
  if (named !== operation) return undefined;
  if ([ofEnvelope, ofBody, ofResponse, ofResult].some(isRepeating)) return undefined;
  const fields = new Map<string, string>();
  leaf.lastIndex = all.length;
  let end = all.length;
  for (let found = leaf.exec(text); found; found = leaf.exec(text)) {
    const [, name = "", attributes, content = ""] = found;
    if (fields.has(name) || isDangerous(name) || isRepeating(attributes)) return undefined;
    fields.set(
      name,
      content.trim().replace(/&\w+;/g, (reference) => references[reference] ?? ""),
    );
    end = leaf.lastIndex;
  }
  const response = `</${named}Result></${prefix}:${named}Response>`;
  const foot = `${response}</${envelope}:Body></${envelope}:Envelope>`;
  const rest = text.slice(end);
  return rest === foot || rest === `${foot}\n` ? fields : undefined;
}

/** Returns whether a name could reach an object's prototype; the XML parser refuses that name. */
function isDangerous(name: string): boolean {
  return name === "prototype" || name in Object.prototype;
}

/** Returns whether an attribute is given twice, which XML does not allow. */
function isRepeating(attributes: string | undefined): boolean {
  if (attributes === undefined || attributes === "") return false;
  // The pattern takes each attribute with its value, so that no name is found inside a value.
  const names = [...attributes.matchAll(/ ([^=]+)="[^"]*"/g)].map(([, name]) => name);
  return new Set(names).size < names.length;
}
