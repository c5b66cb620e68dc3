import { readFileSync } from "node:fs";
import { parseSync } from "vite";
import { expect, test } from "vitest";
import { repositoryFiles, root, type Source } from "./sources.ts";

/** A sentence that begins so leaves its subject to the reader's guess. */
const bareSubject =
  /(?:^|[.:;?!]["'`)]*[ \n]|\n{2}|\n- )((?:It|What|Somebody|The same|Whoever)\b[^.]{0,50})/g;

test("every sentence of a comment in src names its subject", () => {
  const sources = repositoryFiles("src").flatMap(sourceOf);
  expect(sources.length).toBeGreaterThan(300);
  expect(sources.flatMap(bareSentences)).toEqual([]);
});

test("a bare subject is found at every place where a sentence can begin", () => {
  const text = [
    "/** What a driver tells. */",
    "// The line was open. It",
    "// broke.",
    "/**",
    " * The list: Whoever reads it",
    " * may wait.",
    " *",
    " * Somebody waits (here.) The same again.",
    " */",
    "const words = 'It is no comment.'; // Nobody knows what it is. The samest of all.",
  ].join("\n");
  expect(bareSentences({ path: "a.ts", text })).toEqual([
    "a.ts:1: What a driver tells",
    "a.ts:2: It broke",
    "a.ts:4: Whoever reads it may wait",
    "a.ts:4: Somebody waits (here",
    "a.ts:4: The same again",
  ]);
});

function sourceOf(path: string): Source[] {
  if (!/\.(ts|js)$/.test(path)) return [];
  try {
    return [{ path, text: readFileSync(`${root}/${path}`, "utf8") }];
  } catch {
    return []; // deleted in the work tree, still in the index
  }
}

function bareSentences({ path, text }: Source): string[] {
  return comments(path, text).flatMap(({ line, words }) =>
    [...words.matchAll(bareSubject)].map(([, found = ""]) => {
      return `${path}:${line}: ${found.replaceAll("\n", " ")}`;
    }),
  );
}

/** The comments of a file without their marks; line comments below each other are one comment. */
function comments(path: string, text: string): { line: number; words: string }[] {
  const found: { type: string; start: number; end: number }[] = [];
  for (const { type, start, end } of parseSync(path, text).comments) {
    const last = found.at(-1);
    const continues = type === "Line" && last?.type === type;
    if (continues && /^\n *$/.test(text.slice(last.end, start))) last.end = end;
    else found.push({ type, start, end });
  }
  return found.map(({ start, end }) => ({
    line: text.slice(0, start).split("\n").length,
    words: text
      .slice(start, end)
      .replace(/^ *(?:\/\*+|\*+\/|\*|\/\/) ?| *\*+\/$/gm, "")
      .trim(),
  }));
}
