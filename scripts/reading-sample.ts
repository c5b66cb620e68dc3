/**
 * Draws what people read in this project, for readers who do not know it to judge.
 *   npm run reading-sample -- [--seed N] [--each N]
 * Prints N comments of src, N messages (errors, conditions, findings, thrown texts, log lines) and
 * N sentences of the books without the generated reports, each with its place; 60 of each without
 * --each. A comment comes with the line of code that it stands on, a sentence with its heading,
 * because a reader sees these too. The same seed draws the same places of a commit.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";
import { projectRoot } from "../src/shared/version-files.ts";
import { repositoryFiles, typescriptSources } from "../test/tidy/sources.ts";
import { misused, readArguments } from "./command-line.ts";

interface Piece {
  readonly position: string;
  readonly text: string;
  /** The line that a comment stands on. */
  readonly code?: string;
  /** The heading that a sentence of a book stands under. */
  readonly under?: string;
}

/** A text that a person reads has at least so many words; a name or a code has fewer. */
const LENGTH_MIN = 4;

const { values } = readArguments({
  options: {
    seed: { type: "string", default: "1" },
    each: { type: "string", default: "60" },
  },
});
const [seed, each] = [Number(values.seed), Number(values.each)];
if (!(seed > 0 && each > 0)) misused("--seed and --each are whole numbers from 1\n");

const sources = typescriptSources().filter(({ path }) => path.startsWith("src/"));
const isRead = ({ text }: Piece): boolean => text.split(" ").length >= LENGTH_MIN;
const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length;

const comments = sources.flatMap(({ path, text }) =>
  joinedComments(text, parseSync(path, text).comments).map(({ start, end, value }) => ({
    position: `${path}:${lineOf(text, start)}`,
    text: value.replace(/\n? *\*+ ?/g, " ").trim(),
    code: codeAt(text, start, end),
  })),
);

/** Thrown texts and lines of the log, as far as they stand in one piece. */
const spoken = sources.flatMap(({ path, text }) =>
  [
    ...text.matchAll(/\b(?:Error|refused|info|warn|error|fault|note)\([^"`;]*["`]([^"`]+)["`]/g),
  ].map(({ index, 1: said = "" }) => ({ position: `${path}:${lineOf(text, index)}`, text: said })),
);
const catalogs = repositoryFiles("src/shared")
  .filter((path) => path.endsWith("-en.json"))
  .flatMap((path) => textsOf(JSON.parse(readFileSync(join(projectRoot, path), "utf8")), path));

const sentences = repositoryFiles("docs", "README.md")
  .filter((path) => path.endsWith(".md") && !path.startsWith("docs/reports/"))
  .flatMap(sentencesOf);

print("Comments", comments);
print("Messages", [...spoken, ...catalogs]);
print("Sentences", sentences);

interface Comment {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** Returns the comments of a file; comments with only a line end between them are one. */
function joinedComments(text: string, all: readonly Comment[]): Comment[] {
  const joined: Comment[] = [];
  for (const each of all) {
    const last = joined.at(-1);
    if (last && /^\n *$/.test(text.slice(last.end, each.start))) {
      joined[joined.length - 1] = { ...last, end: each.end, value: last.value + each.value };
    } else joined.push(each);
  }
  return joined;
}

/** Returns the sentences of a book that stand in its text, not in code, comments or tables. */
function sentencesOf(path: string): Piece[] {
  let under = "";
  return readFileSync(join(projectRoot, path), "utf8")
    .replace(/^```[\s\S]*?^```$|<!--[\s\S]*?-->|^\|.*$/gm, "")
    .split(/\n\s*\n|\n(?=[-*#] |\d+\. )/)
    .flatMap((paragraph) => {
      const text = paragraph.replace(/\s+/g, " ").trim();
      const heading = /^#+ (.*)$/.exec(text)?.[1];
      under = heading ?? under;
      const parts = heading
        ? []
        : text.replace(/^(?:[-*]|\d+\.) /, "").split(/(?<=[.!?]) (?=[A-Z`*[])/);
      return parts.map((part) => ({ position: path, text: part, under }));
    });
}

function textsOf(value: unknown, position: string): Piece[] {
  if (typeof value === "string") return [{ position, text: value }];
  return Object.entries(value as object).flatMap(([key, inside]) =>
    textsOf(inside, `${position} ${key}`),
  );
}

/** Returns the line of code that a comment stands on: the one it ends, or the next one. */
function codeAt(text: string, start: number, end: number): string {
  const before = text.slice(text.lastIndexOf("\n", start) + 1, start).trim();
  const after = text.slice(end).split("\n");
  return before || (after.find((line) => /^ *[^ /*]/.test(line))?.trim() ?? "");
}

/** Linear congruential numbers below `below` (Numerical Recipes, 7.1). */
function numbers(below: number): () => number {
  let state = seed;
  return () => {
    state = (1_664_525 * state + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function print(title: string, all: readonly Piece[]): void {
  const pieces = all.filter(isRead);
  const next = numbers(pieces.length);
  const drawn = new Set<number>();
  while (drawn.size < Math.min(each, pieces.length)) drawn.add(next());
  process.stdout.write(`## ${title}: ${drawn.size} of ${pieces.length}\n\n`);
  for (const index of drawn) {
    const { position = "", text = "", code, under } = pieces[index] ?? {};
    const on = code ? ` [on: \`${code}\`]` : under ? ` [under: ${under}]` : "";
    process.stdout.write(`- \`${position}\` ${text.replace(/\s+/g, " ")}${on}\n`);
  }
  process.stdout.write("\n");
}
