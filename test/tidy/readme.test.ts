import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { generatedPages, withGeneratedParts } from "../../scripts/readme.ts";
import { readArguments } from "../../src/launcher/arguments.ts";
import { findingTable } from "../../src/shared/catalog/findings.ts";
import { calls } from "../../src/tp-manager/http/calls/calls.ts";
import { openApiFile } from "../../src/tp-manager/http/calls/program-calls.ts";
import { openApiDocument } from "../../src/tp-manager/http/openapi/document.ts";
import documentTexts from "../../src/tp-manager/http/openapi/document-en.json" with {
  type: "json",
};
import { blocksOf, handbooks, shellBlocks } from "../support/files/pages.ts";
import { repositoryFiles, root } from "./sources.ts";

const pages = repositoryFiles()
  .filter((path) => path.endsWith(".md") && existsSync(`${root}/${path}`))
  .map((path) => ({ path, text: readFileSync(`${root}/${path}`, "utf8") }));
const textOf = (page: string): string => pages.find(({ path }) => path === page)?.text ?? "";
const all = handbooks.map(textOf).join("\n");

test.each(generatedPages)(
  "the tables of %s are those of the code (npm run readme)",
  async (page) => {
    const text = textOf(page);
    expect(await withGeneratedParts(page, text)).toBe(text);
  },
);

test("docs/openapi.json is made from the calls (npm run readme), each with its texts", () => {
  const written = readFileSync(openApiFile, "utf8");
  expect(written).toBe(`${JSON.stringify(openApiDocument(), null, 2)}\n`);
  expect(Object.keys(documentTexts.calls)).toEqual(calls.map(({ path }) => path));
});

test("each finding of the doctor says more than values, and something of its own", () => {
  const rows = Object.values(findingTable);
  const meanings = rows.map(({ says }) => says.replaceAll(/\{\w+\}/g, ""));
  expect(meanings.filter((phrase) => !/[a-z]{3}.*[a-z]{3}/.test(phrase))).toEqual([]);
  const verdicts = rows.map(
    ({ check, verdict }, index) => `${check} ${verdict} ${meanings[index]}`,
  );
  expect(verdicts.filter((one, index) => verdicts.indexOf(one) !== index)).toEqual([]);
});

test("the README can be read in one sitting, and every handbook is found from it", () => {
  expect(Buffer.byteLength(textOf("README.md"))).toBeLessThanOrEqual(15_000);
  const named = handbooks.filter((page) => page !== "README.md");
  expect(named.filter((page) => !textOf("README.md").includes(`](${page}`))).toEqual([]);
});

describe("a link", () => {
  const links = pages.flatMap(({ path, text }) =>
    [...withoutCode(text).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(
      ([, target = ""]) => ({ path, target }),
    ),
  );

  test("of a page leads to a file or folder that exists", () => {
    const dead = links.filter(({ path, target }) => {
      const [file = ""] = target.split("#");
      return file !== "" && !existsSync(join(root, dirname(path), file));
    });
    expect(dead).toEqual([]);
    expect(links.length).toBeGreaterThan(50);
  });

  test("with an anchor leads to a heading of that page", () => {
    const lost = links.filter(({ path, target }) => {
      const [file = "", anchor] = target.split("#");
      if (anchor === undefined) return false;
      const page = file === "" ? path : normalize(join(dirname(path), file));
      return !anchorsOf(textOf(page)).includes(anchor);
    });
    expect(lost).toEqual([]);
    expect(links.filter(({ target }) => target.includes("#")).length).toBeGreaterThan(10);
  });

  test("is read as GitHub makes anchors", () => {
    const text = "# The `orderId` is, for ever\n## It's a-b\n```\n# no heading\n```\n## It's a-b\n";
    expect(anchorsOf(text)).toEqual(["the-orderid-is-for-ever", "its-a-b", "its-a-b-1"]);
  });
});

test("the folder map has every folder other than src, and each of test/support", () => {
  const tops = /^((?:test\/support|test|scripts|docs|examples)\/[\w-]+)(?= {2,})/gm;
  const listed = [...all.matchAll(tops)];
  const folders = ["test", "scripts", "docs", "examples"].flatMap((top) =>
    repositoryFiles(top)
      .filter((path) => existsSync(`${root}/${path}`))
      .map((path) => dirname(path).split("/"))
      .flatMap((parts) => [parts.slice(0, 2), parts.slice(0, parts[1] === "support" ? 3 : 2)])
      .map((parts) => parts.join("/")),
  );
  const wanted = [...new Set(folders)].filter((folder) => folder.includes("/")).sort();
  expect(listed.map(([, path = ""]) => path).sort()).toEqual(wanted);
});

test("the code map has every folder of src, and of what has rooms each room", () => {
  const map = textOf(handbooks.find((page) => /architecture[.]md$/.test(page)) ?? "");
  const listed = [...map.matchAll(/^\| `(src\/[\w/-]+)` \|/gm)].map(([, path = ""]) => path);
  const folders = repositoryFiles("src")
    .filter((path) => existsSync(`${root}/${path}`))
    .map((path) => dirname(path).split("/"));
  const withRooms = ["launcher", "shared", "simulator", "supervisor", "tp-manager"];
  const wanted = folders.flatMap(([src, first = "", second]) => [
    `${src}/${first}`,
    ...(second && withRooms.includes(first) ? [`${src}/${first}/${second}`] : []),
  ]);
  expect(listed).toEqual([...new Set(wanted)].sort());
});

test("code map and folder map have together every folder of src, at any depth, once", () => {
  const maps = textOf("docs/architecture.md") + textOf("docs/contributing.md");
  const listed = [...maps.matchAll(/^(?:\| `(src\/[\w/-]+)` \||(src\/[\w/-]+)(?= {2,}))/gm)];
  const folders = repositoryFiles("src")
    .filter((path) => existsSync(`${root}/${path}`))
    .map((path) => dirname(path));
  expect(listed.map(([, room, deeper = ""]) => room ?? deeper).toSorted()).toEqual(
    [...new Set(folders)].toSorted(),
  );
});

test("every npm script that a handbook names exists", () => {
  const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));
  const named = [...all.matchAll(/`npm run ([\w:-]+)/g)].map(([, name]) => name ?? "");
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

test("every command in a block is run by a test, or says why not", () => {
  expect(blocksOf(undefined)).toEqual([]);
  const reasons = handbooks.flatMap(shellBlocks).flatMap(({ notRun }) => notRun ?? []);
  expect(reasons.filter((reason) => reason.length < 15)).toEqual([]);
  const tests = reasons.flatMap((reason) => reason.match(/test\/[\w./-]+\.test\.ts/g) ?? []);
  expect(tests.filter((path) => !existsSync(`${root}/${path}`))).toEqual([]);
});

test("the launcher takes every call of it that a handbook names", () => {
  const calls = [...all.matchAll(/(?:`|^)\.\/launch\.sh((?: [\w./-]+)*)/gm)].map(
    ([, phrase = ""]) => phrase.trim().split(" ").filter(Boolean),
  );
  expect(calls.length).toBeGreaterThan(20);
  const refused = calls.filter((phrase) => {
    try {
      readArguments(phrase);
      return false;
    } catch {
      return true;
    }
  });
  expect(refused).toEqual([]);
});

test("no file names a machine's own path, and no lock file entry a registry", () => {
  const machinePath = /(^|[^A-Za-z0-9_.$~-])\/(home|root|Users)\/[a-z]/m;
  const wrong = repositoryFiles().filter((path) => {
    if (!existsSync(`${root}/${path}`)) return false;
    const text = readFileSync(`${root}/${path}`, "utf8");
    return path === "package-lock.json" ? text.includes('"resolved"') : machinePath.test(text);
  });
  expect(wrong).toEqual([]);
});

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "`code`");
}

/** The anchors of a page's headings; a heading that comes again has a number. */
function anchorsOf(text: string): string[] {
  const counts = new Map<string, number>();
  const headings = text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading = ""]) => {
    const plain = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "");
    const anchor = plain.trim().replaceAll(" ", "-");
    const before = counts.get(anchor) ?? 0;
    counts.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
}
