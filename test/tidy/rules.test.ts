import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { pathsIn } from "./citations.ts";
import { root } from "./sources.ts";

const PAGE_LINES_MAX = 84;
const parts = ["Why", "Cases", "Example", "Where"];

const pages = readdirSync(`${root}/docs/rules`)
  .filter((file) => file !== "README.md")
  .map((file) => [file, readFileSync(`${root}/docs/rules/${file}`, "utf8")] as const);

describe.each(pages)("docs/rules/%s", (_, page) => {
  test("says the rule in one sentence", () => {
    const [, sentence = ""] = /^# .+\n\n\*\*([\s\S]+?)\*\*\n\n/.exec(page) ?? [];
    expect(sentence.match(/[.](?=\s|$)/g)).toHaveLength(1);
    expect(sentence.trim().endsWith(".")).toBe(true);
  });

  test("has why, cases, an example and where, in this order, on a page", () => {
    const heads = [...page.matchAll(/^## (\w+)/gm)].map(([, head = ""]) => head);
    expect(heads.filter((head, index) => heads[index - 1] !== head)).toEqual(parts);
    expect(page.split("\n").length).toBeLessThanOrEqual(PAGE_LINES_MAX);
  });

  test("decides by tables and shows one example in the order of time", () => {
    const [before = "", example = ""] = page.split("\n## Example\n");
    expect(before).toMatch(/^\|---\|---\|/m);
    expect(example).toMatch(/^\| Time \| Who \| What \|$/m);
  });

  test("names the files that build it and the tests that prove it", () => {
    const [, built = "", proved = ""] =
      /^The rule is implemented in ([\s\S]+)^The rule is proved by ([\s\S]+)$/m.exec(page) ?? [];
    expect(pathsIn(built).filter((path) => path.startsWith("src/"))).not.toEqual([]);
    expect(pathsIn(proved).filter((path) => /^test\/.*[.]ts$/.test(path))).not.toEqual([]);
  });
});
