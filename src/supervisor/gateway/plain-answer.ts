/**
 * An answer in the form that gateways write in fact: an envelope, a body, one response and one
 * result with texts, without comments, sections or anything between the elements. Such an answer
 * is read in one pass and without a tree. Whatever differs is left to the strict reader of
 * soap-answer.ts; what is read here, that reader reads the same, which a test holds.
 */

const NAME = "[A-Za-z][A-Za-z0-9_-]*";
const ATTRIBUTES = `((?: ${NAME}(?::${NAME})?="[^"<&]*")*)`;
/** Text without markup, references and control characters. */
const TEXT = "[^<&\\x00-\\x1f\\x7f-\\x9f\\ufffe\\uffff]*";

const opening = new RegExp(
  `^(?:<\\?xml version="1\\.0"(?: encoding="(?:utf|UTF)-8")?\\?>\\n?)?` +
    `<(${NAME}):Envelope${ATTRIBUTES}><\\1:Body${ATTRIBUTES}>` +
    `<(${NAME}):(${NAME})Response${ATTRIBUTES}><\\5Result${ATTRIBUTES}>`,
);
/** Takes time in proportion to the length: no text matches two parts of this pattern. */
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

/** The texts of `<operation>Result` by name; undefined when the answer is not so plain. */
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

/** The strict reader refuses names that could reach a prototype. */
function isDangerous(name: string): boolean {
  return name === "prototype" || name in Object.prototype;
}

/** XML allows each attribute once. */
function isRepeating(attributes: string | undefined): boolean {
  if (attributes === undefined || attributes === "") return false;
  // The values are matched too, so that no name is found inside a value.
  const names = [...attributes.matchAll(/ ([^=]+)="[^"]*"/g)].map(([, name]) => name);
  return new Set(names).size < names.length;
}
