import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { mutations } from "../crash/mutations.ts";
import { pathsIn } from "./citations.ts";
import { root } from "./sources.ts";

/** A page fits a screen. A row of a table is read as lines of this width. */
const PAGE_LINES_MAX = 84;
const ROW_COLUMNS = 100;
const parts = ["Why", "Cases", "Example", "Where"];

const pages = readdirSync(`${root}/docs/rules`)
  .filter((file) => file !== "README.md")
  .map((file) => [file, read(`docs/rules/${file}`)] as const);

describe.each(pages)("docs/rules/%s", (file, page) => {
  test("says the rule in one sentence", () => {
    const [, sentence = ""] = /^# .+\n\n\*\*([\s\S]+?)\*\*\n\n/.exec(page) ?? [];
    expect(sentence.match(/[.](?=\s|$)/g)).toHaveLength(1);
    expect(sentence.trim().endsWith(".")).toBe(true);
  });

  test("has why, cases, an example and where, in this order, on a page", () => {
    const heads = [...page.matchAll(/^## (\w+)/gm)].map(([, head = ""]) => head);
    expect(heads.filter((head, index) => heads[index - 1] !== head)).toEqual(parts);
    expect(linesRead(page)).toBeLessThanOrEqual(PAGE_LINES_MAX);
  });

  test("decides by tables and shows one example in the order of time", () => {
    const [before = "", example = ""] = page.split("\n## Example\n");
    expect(before).toMatch(/^\|---\|---\|/m);
    expect(example).toMatch(/^\| Time \| Who \| What \|$/m);
  });

  test("names files that cite the rule or hold its measures, and tests that prove it", () => {
    const [, built = "", proved = ""] =
      /^The rule is implemented in ([\s\S]+)^The rule is proved by ([\s\S]+)$/m.exec(page) ?? [];
    const files = pathsIn(built).filter((path) => /^src\/.*[.]ts$/.test(path));
    const isCiting = (path: string): boolean => read(path).includes(`docs/rules/${file}`);
    expect(files.filter((path) => !isCiting(path) && !measured(file).includes(path))).toEqual([]);
    expect(files.filter(isCiting)).not.toEqual([]);
    expect(pathsIn(proved).filter((path) => /^test\/.*[.]ts$/.test(path))).not.toEqual([]);
  });
});

test("a row of a table counts as the lines that its reader sees", () => {
  const rows = [`| ${"b".repeat(96)} |`, `| ${"c".repeat(97)} |`];
  expect([["a".repeat(300)], rows].map((lines) => linesRead(lines.join("\n")))).toEqual([1, 3]);
});

/** The files from which the mutations take a safety measure of the rule. */
function measured(file: string): string[] {
  const ofRule = mutations.filter(({ breaks: [section] }) => `${section}.md` === file);
  return ofRule.flatMap(({ edits }) => edits.map((edit) => edit.file));
}

function read(path: string): string {
  return readFileSync(`${root}/${path}`, "utf8");
}

function linesRead(page: string): number {
  const lines = page.split("\n");
  const inRow = (line: string): number => Math.ceil(line.length / ROW_COLUMNS);
  return lines.reduce((sum, line) => sum + (line.startsWith("|") ? inRow(line) : 1), 0);
}
