import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Hit, hitsIn, rowsOf, storedNamesOf, termsOf, withoutTables } from "./glossary.ts";
import { publishedNames } from "./published-names.ts";
import { repositoryFiles, root, type Source } from "./sources.ts";

const GLOSSARY = "docs/glossary.md";
const glossary = read(GLOSSARY);
const rows = rowsOf(glossary);
const stored = storedNamesOf(glossary);
const names = new Set([...publishedNames(), ...stored]);

/**
 * A step of the journal's schema that has run is never changed, and a report has the words of the
 * run that printed it, so their texts are not read.
 */
const unchanged = /^src\/tp-manager\/journal\/database\/migrations\.ts$|^docs\/reports\//;

const shellFiles = ["launch.sh", "launch.cmd", "always-up.sh", "always-up.cmd"];
const rootPages = ["README.md", "SECURITY.md", "CHANGELOG.md"];
const sources = repositoryFiles("src", "docs", "examples", ...rootPages, ...shellFiles)
  .filter(
    (path) =>
      /(\.(ts|js|md|html|py|cs|sh|cmd)|\b(en|texts)\.json)$/.test(path) &&
      !unchanged.test(path) &&
      existsSync(`${root}/${path}`),
  )
  .map(
    (path): Source => ({ path, text: path === GLOSSARY ? withoutTables(glossary) : read(path) }),
  );
const hits = sources.flatMap((source) => hitsIn(source, rows, names));

/** Words that tests quote: of the code, a table, a metric and an older release; none joins them. */
const leftInTests: readonly string[] = ["of before", "stray", "tell", "trouble"];
/** This test and its list show refused words on purpose. */
const showsWords = /^test\/tidy\/glossary/;
/** A mutation quotes lines of the code, and published names with them. */
const quotesCode = /^test\/crash\/[\w-]+-mutations\.ts$/;
const hitsInTests = repositoryFiles("test", "scripts")
  .filter((path) => path.endsWith(".ts") && !showsWords.test(path) && existsSync(`${root}/${path}`))
  .flatMap((path) => hitsIn({ path, text: read(path) }, rows, names))
  .filter(({ path, form }) => !(quotesCode.test(path) && names.has(form)));

test("no word that the glossary refuses is used", () => {
  expect(hits.map(lineOf)).toEqual([]);
});

test("tests and scripts use no refused word but those that are left in them", () => {
  const [left = [], others = []] = [true, false].map((isLeft) =>
    hitsInTests.filter(({ form }) => leftInTests.includes(form) === isLeft),
  );
  expect(others.map(lineOf)).toEqual([]);
  expect([...new Set(left.map(({ form }) => form))].toSorted()).toEqual(leftInTests.toSorted());
});

function lineOf({ path, line, form }: Hit): string {
  const { write = "" } = rows.find(({ forms }) => forms.includes(form)) ?? {};
  return `${path}:${line}: ${form}: write ${write}`;
}

test("the glossary has its terms once each, and refuses none of them", () => {
  const terms = termsOf(glossary);
  expect(terms.length).toBeGreaterThanOrEqual(40);
  expect(new Set(terms).size).toBe(terms.length);
  const refused = terms.flatMap((text) => hitsIn({ path: "terms.md", text }, rows, new Set()));
  expect(refused).toEqual([]);
});

test("a refused word is refused once, and says what to write", () => {
  const forms = rows.flatMap((row) => row.forms.map((form) => `${row.where} ${form}`));
  expect(forms.filter((form, index) => forms.indexOf(form) !== index)).toEqual([]);
  expect(rows.filter(({ write }) => write === "")).toEqual([]);
  expect(forms.length).toBeGreaterThan(100);
});

test("a stored name that stays still stands in the code", () => {
  const code = sources.filter(({ path }) => path.startsWith("src/")).map(({ text }) => text);
  expect(stored.filter((name) => !code.some((text) => text.includes(name)))).toEqual([]);
});

const few = rowsOf(`## Words that are not used

| Not | Where | Write | Right in |
|---|---|---|---|
| told, tells | everywhere | reported | |
| Word | types | reply | |
| look, care | names | probe | look up |
| of before, hand over | everywhere | previous | before all |
| acknowledged | everywhere | ACK | acknowledged rows, a sentence with operator, \`src/console\` |
`);
const found = (path: string, text: string, ...published: string[]): string[] =>
  hitsIn({ path, text }, few, new Set(published)).map(({ line, form }) => `${line} ${form}`);

test.each([
  ["an identifier", "const lastTold = 1;", ["1 told"]],
  ["a private member", "class A {\n  #told = 1;\n}", ["2 told"]],
  ["a phrase in a name", "f(handOver, HAND_OVER);", ["1 hand over", "1 hand over"]],
  ["a comment", "/** One\n * that it tells. */", ["2 tells"]],
  ["a phrase across lines of a comment", "// A copy of\n// before.", ["1 of before"]],
  ["a text", 'throw new Error("it was told");', ["1 told"]],
  ["a template", "f(`it was told`);", ["1 told"]],
  ["a type with this very name", "let a: Word; let b: Words; let word = 1;", ["1 Word"]],
  ["a word that only names may not have", "care(); // with care", ["1 care"]],
])("a word is found in %s", (_, text, places) => {
  expect(found("src/a.ts", text)).toEqual(places);
});

test.each([
  ["the path of an import", 'import { a } from "./told.ts";'],
  ["a part of another word", "const retold = foretold; // untold"],
  ["what the row allows", "lookUp(); // of before all others"],
])("no word is found in %s", (_, text) => expect(found("src/a.ts", text)).toEqual([]));

test.each([
  ["an operator acknowledged it. A frame was acknowledged", ["1 acknowledged"]],
  ["| acknowledged | operator |\n| acknowledged by an operator |", ["1 acknowledged"]],
  ["- acknowledged\n- by an operator, who acknowledged\n  the alarm", ["1 acknowledged"]],
])("a word is right in a sentence about who does it: %j", (text, places) => {
  expect(found("docs/a.md", text)).toEqual(places);
});

test("a word is right in a folder, and in a name, that the row allows", () => {
  const text = "acknowledged(new AcknowledgedRows());";
  expect(found("src/console/a.ts", text)).toEqual([]);
  expect(found("src/a.ts", text)).toEqual(["1 acknowledged"]);
  expect(found("src/console/a.ts", "lastTold();")).toEqual(["1 told"]);
});

test("a file's own path is read like a name", () => {
  expect(found("src/care/told.ts", "f();")).toEqual(["0 care", "0 told"]);
});

test("a published name is meant in a member, a whole text, a statement and after marks", () => {
  const given = ["told", "toldBefore", "told-late", "/told"];
  const text =
    'a.told({ told: 1 }, "told", "SELECT told FROM a"); // `told`, told-late, toldBefore';
  expect(found("src/a.ts", text, ...given)).toEqual([]);
  expect(found("src/a.ts", "const told = 1; // is told", ...given)).toEqual(["1 told", "1 told"]);
  expect(found("docs/a.md", "`GET /told`, `told`, /told; told", ...given)).toEqual(["1 told"]);
  expect(found("src/a.ts", 'f("GET /told/A-1", "/told/", "/tells/A")', ...given)).toEqual([
    "1 tells",
  ]);
});

test("a stored text is skipped where it stands as it is", () => {
  const stored = "it was told too late";
  const text = `f("${stored}, and again"); // it is told too late`;
  expect(found("src/a.ts", text, stored)).toEqual(["1 told"]);
});

function read(path: string): string {
  return readFileSync(`${root}/${path}`, "utf8");
}
