import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import {
  citedIn,
  constantsIn,
  fileNamesIn,
  namesIn,
  pathsIn,
  referencesIn,
  refusedIn,
  refusedInPage,
  sectionsOf,
  standards,
  standardsIn,
  withoutSection,
} from "./citations.ts";
import { repositoryFiles, root, type Source } from "./sources.ts";

const books = new Map(
  ["architecture", "design", "gateway", "zvt", "concert", "nexo", "updates", "fleet"].map(
    (name) => [name, read(`docs/${name}.md`)] as const,
  ),
);
/** The pages of the rules about money by their names, as `17-loss`. */
const rules = new Map(
  readdirSync(`${root}/docs/rules`)
    .filter((file) => file !== "README.md")
    .map((file) => [file.replace(/[.]md$/, ""), read(`docs/rules/${file}`)] as const),
);
const sections = new Map([
  ...[...books].map(([name, text]) => [name, sectionsOf(text)] as const),
  ["rules", new Map([...rules].map(([name, text]) => [name, headingOf(text)] as const))] as const,
]);

/** Every text that git knows, except the licence, npm's lock and the tests of the books. */
const texts = repositoryFiles()
  .filter((path) => !/^(LICENSE|package-lock[.]json)$/.test(path))
  .filter((path) => !/^test\/tidy\/(citations|books)[.]/.test(path))
  .flatMap((path): Source[] => {
    try {
      const text = read(path);
      return text.includes("\0") ? [] : [{ path, text }];
    } catch {
      return []; // deleted in the work tree, still in the index
    }
  });

/** Pages may speak of the specification, and of chapters of their own. */
const isPage = ({ path }: Source): boolean => /^(README|docs\/(rules\/)?[\w-]+)[.]md$/.test(path);
const sources = texts.filter((text) => !isPage(text));

/** Books about this program; what names in capitals mean in the other one, its protocol says. */
const ofThisProgram = ["architecture", "design", "gateway"];
const ours = [...[...books].filter(([name]) => ofThisProgram.includes(name)), ...rules];
const code = sources.flatMap(({ path, text }) => (path.startsWith("src/") ? [text] : [])).join("");

describe("a citation", () => {
  test("leads to a section of a book in docs", () => {
    // A published report quotes its own commit.
    const present = texts.filter(({ path }) => !path.startsWith("docs/reports/"));
    const lost = present.flatMap(({ path, text }) =>
      citedIn(text)
        .filter((cited) => titleOf(cited) === undefined)
        .map((cited) => `${path}: ${cited}`),
    );
    expect(lost).toEqual([]);
  });

  test("names its section, except in a page that links to the whole book", () => {
    const vague = sources
      .filter(({ path }) => !path.endsWith(".md"))
      .flatMap(({ path, text }) => withoutSection(text).map((found) => `${path}: ${found}`));
    expect(vague).toEqual([]);
  });

  test("names no document that is not in the repository", () => {
    const wrong = sources.flatMap(({ path, text }) =>
      refusedIn(text).map((found) => `${path}: ${found}`),
    );
    expect(wrong).toEqual([]);
  });

  test("of a standard is one of the closed list, and the list has no other", () => {
    const named = sources.flatMap(({ path, text }) =>
      standardsIn(text).map((name) => ({ path, name })),
    );
    expect(named.filter(({ name }) => !standards.includes(name))).toEqual([]);
    expect(standards.filter((name) => !named.some((one) => one.name === name))).toEqual([]);
  });

  test("in src relies on nothing that is written down but not built yet", () => {
    const early = sources
      .filter(({ path }) => path.startsWith("src/"))
      .flatMap(({ path, text }) =>
        citedIn(text)
          .filter((cited) => titleOf(cited)?.endsWith("(not yet)"))
          .map((cited) => `${path}: ${cited}`),
      );
    expect(early).toEqual([]);
  });
});

test("a page, and a file of src, names only TypeScript files that exist", () => {
  const files = new Set(repositoryFiles().map((path) => basename(path)));
  const wrong = texts
    .filter(({ path }) => /[.]md$|^src\/.*[.]ts$/.test(path))
    .flatMap(({ path, text }) =>
      fileNamesIn(text)
        .filter((name) => !files.has(name))
        .map((name) => `${path}: ${name}`),
    );
  expect(wrong).toEqual([]);
});

test("README, docs and what starts the programs are read too", () => {
  const paths = texts.map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining(["README.md", "docs/evidence.md", "launch.sh", "vitest.config.ts"]),
  );
  expect(paths).toEqual(expect.arrayContaining([".ci/run", "package.json", "docs/openapi.json"]));
});

test("README and every page of docs count no rules or lists that a reader cannot find", () => {
  const pages = texts.filter(isPage);
  const wrong = pages.flatMap(({ path, text }) =>
    refusedInPage(text).map((found) => `${path}: ${found}`),
  );
  expect(wrong).toEqual([]);
  expect(pages.length).toBeGreaterThan(books.size);
});

describe("a book", () => {
  test.each([...books.keys()])("%s counts its sections without a gap, each once", (name) => {
    const headings = [...(books.get(name) ?? "").matchAll(/^(##|###) (\d+(?:\.\d+)?) \S/gm)];
    const counted: string[] = [];
    let [chapter, section] = [0, 0];
    for (const [, depth] of headings) {
      if (depth === "##") [chapter, section] = [chapter + 1, 0];
      else section += 1;
      counted.push(depth === "##" ? `${chapter}` : `${chapter}.${section}`);
    }
    expect(headings.map(([, , number]) => number)).toEqual(counted);
    expect(counted.length).toBeGreaterThan(10);
  });

  test.each([...books.keys()])("%s refers only to sections that exist", (name) => {
    const here = referencesIn(books.get(name) ?? "").map((number) => `${name} ${number}`);
    expect(here.filter((cited) => titleOf(cited) === undefined)).toEqual([]);
  });

  test.each(ours)("%s names constants with the values that the code gives them", (_, text) => {
    const wrong = constantsIn(text).filter((constant) => !isInCode(constant));
    expect(wrong).toEqual([]);
  });

  test.each(ours)("%s names settings and error codes that exist", (_, text) => {
    const unknown = namesIn(text).filter((mention) => !code.includes(mention));
    expect(unknown).toEqual([]);
  });

  test.each([...books, ...rules])("%s names only files and folders that exist", (_, text) => {
    const paths = pathsIn(text);
    expect(paths.filter((path) => !existsSync(`${root}/${path}`))).toEqual([]);
  });

  test.each([...books.keys()])("%s has a text under every heading", (name) => {
    const parts = (books.get(name) ?? "").split(/^(?=##)/m).filter((part) => /^### /.test(part));
    expect(parts.filter((part) => part.trim().split("\n").length < 2)).toEqual([]);
  });

  test.each([
    ["gateway", /\*\*(Published|Clients|Our\s+choice):\*\*/],
    ["zvt", /\*\*(Published|Devices|Our\s+choice):\*\*|\(our choice\)/],
    ["nexo", /\*\*(Recorded|Published|Our\s+choice):\*\*/],
    ["concert", /\*\*(Confirmed|One source|Our\s+choice):\*\*|\(our choice\)/],
  ])("%s grades its statements in every section", (name, grade) => {
    const ungraded = (books.get(name) ?? "")
      .split(/^(?=##)/m)
      .filter((part) => part.startsWith("### ") && !grade.test(part))
      .map((part) => part.slice(0, part.indexOf("\n")));
    expect(ungraded).toEqual([]);
  });

  test("docs/rules holds the money rules as 01 to 37, and its index each of them once", () => {
    const numbers = Array.from({ length: 37 }, (_, i) => String(i + 1).padStart(2, "0"));
    expect([...rules.keys()].map((name) => name.slice(0, 2))).toEqual(numbers);
    const listed = read("docs/rules/README.md").matchAll(/^- \[[^\]]+\]\(([\w-]+)\.md\): ./gm);
    expect([...listed].map(([, name]) => name)).toEqual([...rules.keys()]);
    expect([...(sections.get("design")?.keys() ?? [])].filter((n) => /^3\./.test(n))).toEqual([]);
  });
});

describe("this test finds", () => {
  test.each([
    ["a name in capitals", "as DESIGN 5 says"],
    ["a book without its folder", "(zvt.md 6.1)"],
    ["a number across a line's end", " * may run (rule\n * 5)."],
    ["a number in words", "as rule\n// five has it"],
    ["a number of a tracker", "(issue 12)"],
    ["a text of no file", "The brief says so"],
    ["a document that nobody has", "as the specification shows it"],
    ["a chapter of no document", "// see chapter 6"],
    ["a section of no document", "/** Section 4.2 */"],
    ["a paragraph sign", "§ 8"],
    ["a number outside the name", "see `docs/zvt.md` 8.1"],
    ["a rule without its folder", "(rules/17-loss.md)"],
    ["a rule that is only a number", "(docs/rules/17)"],
    ["a rule as a section of the design", "(docs/design.md 3.17)"],
    ["a rule as a number of the design", "(3.17 of the design)"],
  ])("%s", (_, text) => expect(refusedIn(text)).toHaveLength(1));

  test.each([
    ["a book alone", "see docs/design.md, please"],
    ["a chapter alone", "(docs/zvt.md 12)"],
    ["three levels", "docs/gateway.md 3.4.1"],
    ["a book at the begin of a text in quotes", '"docs/design.md says so"'],
    ["a book at the end of a text in quotes", '"see docs/design.md"'],
  ])("%s", (_, text) => expect(withoutSection(text)).toHaveLength(1));

  test("every section of a list, across a line's end", () => {
    expect(citedIn("// (docs/zvt.md 9.1,\n  // 9.4; docs/design.md 3.99)")).toEqual([
      "zvt 9.1",
      "zvt 9.4",
      "design 3.99",
    ]);
    expect(["design 3.99", "design 3.17", "rules 17-lost"].map(titleOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(citedIn("(docs/design.md 5.2,\n * docs/rules/17-loss.md, docs/rules/2.md)")).toEqual([
      "design 5.2",
      "rules 17-loss",
      "rules 2",
    ]);
    expect(titleOf("rules 17-loss")).toMatch(/\w/);
  });

  test("a section of a page that counts none", () => {
    expect(citedIn("(docs/evidence.md 1.2)").map(titleOf)).toEqual([undefined]);
  });

  test("a bare file name, one with its folder, and no pattern", () => {
    const text = "`gateway-errors.ts`, (src/zvt/tag.test.ts), `*.test.ts`, a.tsx";
    expect(fileNamesIn(text)).toEqual(["gateway-errors.ts", "tag.test.ts"]);
  });

  test("references, constants, names and files of a book", () => {
    const text =
      "`KEPT_FIRST = 6` of `src/shared/masking/mask.ts` (6.2, `docs/zvt.md 9.9`), `LOG_DAYS`";
    expect(referencesIn(text)).toEqual(["6.2"]);
    expect(constantsIn(text)).toEqual(["KEPT_FIRST = 6"]);
    expect(namesIn(text)).toEqual(["KEPT_FIRST", "LOG_DAYS"]);
    expect(pathsIn(text)).toEqual(["src/shared/masking/mask.ts"]);
    expect(["KEPT_FIRST = 6", "KEPT_FIRST = 7"].map(isInCode)).toEqual([true, false]);
  });

  test("a standard that is not in the list", () => {
    expect(standards).not.toContain(standardsIn("RFC 1149, in the air")[0]);
    expect(standardsIn("ISO/IEC 7812-1 and PA00P016")).toEqual(["ISO 7812", "PA00P016"]);
  });

  test("nothing in the wordings that are asked for", () => {
    const good = "/** docs/design.md 5.7, 5.12; RFC 5280 chapter 4.2; SOAP 1.1 chapter 4.4. */";
    const rule = "docs/rules/17-loss.md, docs/rules/02-proof.md";
    expect([good, rule].flatMap(refusedIn)).toEqual([]);
    const file = '{ "docs/design.md": { phases } }';
    expect([good, rule, file].flatMap(withoutSection)).toEqual([]);
  });
});

/** The constant stands in the code with exactly this value. */
function isInCode(constant: string): boolean {
  return [";", ",", " as const;"].some((end) => code.includes(constant + end));
}

/** The title of a rule's page. */
function headingOf(page: string): string {
  return /^# (.+)$/m.exec(page)?.[1] ?? "";
}

function titleOf(cited: string): string | undefined {
  const [book = "", number = ""] = cited.split(" ");
  return sections.get(book)?.get(number);
}

function read(path: string): string {
  return readFileSync(`${root}/${path}`, "utf8");
}
