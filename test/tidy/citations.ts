/**
 * The books of this repository. A citation names one of them and a section, `docs/zvt.md 9.1`, or
 * the page of a rule about money, `docs/rules/17-loss.md`.
 */
const books = "architecture|design|gateway|zvt|concert|nexo|updates|fleet";

/** Published standards that a comment may cite by name; each of them is cited somewhere. */
export const standards: readonly string[] = [
  "EMV",
  "IEEE 1003.1",
  "ISO 639",
  "ISO 4217",
  "ISO 7812",
  "ISO 8583",
  "ISO 8601",
  "ISO 8859",
  "OpenAPI 3.1",
  "PA00P016",
  "RFC 2045",
  "RFC 3986",
  "RFC 4155",
  "RFC 4180",
  "RFC 5280",
  "RFC 5321",
  "RFC 7240",
  "RFC 9110",
  "SOAP 1.1",
  "WSDL 1.1",
  "XML 1.0",
  "XML 1.1",
];

const numbers = String.raw`\d+\.\d+(?:(?:,| and| to) \d+\.\d+)*(?![\d.]*\d)`;
const citation = new RegExp(String.raw`\bdocs/([\w-]+)\.md (${numbers})`, "g");
const ruleCitation = /\bdocs\/rules\/(?!README)([\w-]+)\.md\b/g;
const standard = new RegExp(
  String.raw`\b(RFC|ISO(?:/IEC)?|IEEE|OpenAPI|SOAP|WSDL|XML)[ -](\d+(?:\.\d)?)` +
    String.raw`|\b(EMV|PA00P\d+)\b`,
  "g",
);

/** Numbers of lists that the repository does not hold; refused in its books and pages too. */
const bareNumbers: readonly RegExp[] = [
  /\b[Rr]ules? (?:number )?\d+/g,
  new RegExp(
    String.raw`\brules? (?:number )?(?:one|two|three|four|five|six|seven|eight|nine|ten` +
      String.raw`|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty)\b`,
    "gi",
  ),
  /\bissues? #?\d/gi,
  /\bthe brief\b/gi,
  /\b3\.\d{1,2} of \[?the design\b/g,
  /\bdesign(?:\.md)? 3\.\d/g,
];

/** What a reader cannot follow: it names no file of this repository, or no section of it. */
const refused: readonly RegExp[] = [
  ...bareNumbers,
  /\bDESIGN\b/g,
  new RegExp(String.raw`(?<!docs/|[\w-])(${books})\.md\b`, "g"),
  /(?<!docs\/)\brules\/\d\d-[\w-]+\.md\b/g,
  /\bdocs\/rules\/(?=\d)(?![\w-]+\.md\b)/g,
  /\b[Ss]pecifications?\b/g,
  /(?<!\b(RFC \d{4}|(SOAP|XML) 1\.\d) )\b[Cc]hapters? \d/g,
  /\b[Ss]ections? \d/g,
  /§/g,
  new RegExp(String.raw`docs/(${books})\.md\W{1,2}\d+\.\d+(?<!docs/\w+\.md \d+\.\d+)`, "g"),
];

/** What a text cites: a section as `design 5.7`, the page of a rule as `rules 17-loss`. */
export function citedIn(text: string): string[] {
  const plain = unwrapped(text);
  const ofBooks = [...plain.matchAll(citation)].flatMap(([, book, list = ""]) =>
    numbersOf(list).map((number) => `${book} ${number}`),
  );
  const ofRules = [...plain.matchAll(ruleCitation)].map(([, name]) => `rules ${name}`);
  return [...ofBooks, ...ofRules];
}

/** Sections of the same book that a text refers to in brackets: `(5.7, 5.12)`. */
export function referencesIn(text: string): string[] {
  return [
    ...unwrapped(text)
      .replace(citation, "")
      .matchAll(/\(([^()]*)\)/g),
  ].flatMap(([, inside = ""]) => inside.split(/[,;] /).filter((part) => /^\d+\.\d+$/.test(part)));
}

/** Constants that a book names in the form of the code: `DELAY_CAP_MS = 15 * 60_000`. */
export function constantsIn(text: string): string[] {
  return [...unwrapped(text).matchAll(/`([A-Z][A-Z0-9]*_[A-Z0-9_]+ = [^`]+)`/g)].map(
    ([, constant = ""]) => constant,
  );
}

/** Names in capitals that a book takes from the code: settings, error codes, constants. */
export function namesIn(text: string): string[] {
  return [...unwrapped(text).matchAll(/`([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?:=\w+| = [^`]+)?`/g)].map(
    ([, name = ""]) => name,
  );
}

/** Files and folders of the repository that a book names. */
export function pathsIn(text: string): string[] {
  const named = /`((?:src|test|scripts|docs)\/[\w./-]+)`/g;
  return [...unwrapped(text).matchAll(named)].map(([, path = ""]) => path);
}

/** Names of TypeScript files, with or without folders; a pattern such as `*.test.ts` is none. */
export function fileNamesIn(text: string): string[] {
  const named = /(?<![\w.*$}>/-])(?:[\w.-]+\/)*([\w-]+(?:\.[\w-]+)*\.ts)\b(?![\w/])/g;
  return [...text.matchAll(named)].map(([, name = ""]) => name);
}

/** The wordings of a text that name a document without leading to it. */
export function refusedIn(text: string): string[] {
  return matchesOf(refused, text);
}

/** The few of them that a book or a page may not use either. */
export function refusedInPage(text: string): string[] {
  return matchesOf(bareNumbers, text);
}

function matchesOf(patterns: readonly RegExp[], text: string): string[] {
  const plain = unwrapped(text);
  return patterns.flatMap((pattern) => [...plain.matchAll(pattern)].map(([found]) => found));
}

/** Mentions of a book that no section number follows; a path in quotes names the file itself. */
export function withoutSection(text: string): string[] {
  const mention = new RegExp(String.raw`(?<!"(?=[\w/]+\.md"))docs/(?:${books})\.md\b.{0,12}`, "g");
  return [...unwrapped(text).replace(citation, "").matchAll(mention)].map(([found]) => found);
}

/** The standards that a text names, in the spelling of the list. */
export function standardsIn(text: string): string[] {
  return [...unwrapped(text).matchAll(standard)].map(([, family = "", number = "", alone]) =>
    alone === undefined ? `${family.replace("/IEC", "")} ${number}` : alone,
  );
}

/** Numbers and titles of a book's sections, in its own order. */
export function sectionsOf(book: string): Map<string, string> {
  const headings = [...book.matchAll(/^### (\d+\.\d+) (.+)$/gm)];
  return new Map(headings.map(([, number = "", title = ""]) => [number, title]));
}

/** A comment's lines as one, so that a citation may stand across a line's end. */
function unwrapped(text: string): string {
  return text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/|#(?!#))?[ \t]*/g, " ");
}

function numbersOf(list: string): string[] {
  return [...list.matchAll(/\d+\.\d+/g)].map(([number]) => number);
}
