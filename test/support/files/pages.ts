import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../../../src/shared/version-files.ts";

/** All books, the README first: a test runs the commands that they show. */
export const handbooks: readonly string[] = [
  "README.md",
  "SECURITY.md",
  "CHANGELOG.md",
  ...readdirSync(join(projectRoot, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

export const pageText = (page: string): string => readFileSync(join(projectRoot, page), "utf8");

interface ShellBlock {
  readonly page: string;
  readonly code: string;
  /** Why no test runs it, from the comment before the block; undefined: one does. */
  readonly notRun: string | undefined;
}

const shell = /(?:^<!-- not run by a test: (.+) -->\n\n)?^```sh\n([\s\S]*?)^```$/gm;

/** The commands of a page, as they stand there. */
export function shellBlocks(page: string): ShellBlock[] {
  return [...pageText(page).matchAll(shell)].map(([, notRun, code = ""]) => {
    return { page, code, notRun };
  });
}

/** The code blocks of a page in one language, as they stand there. */
export function codeBlocks(page: string, language: string): string[] {
  const found = pageText(page).matchAll(
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"),
  );
  return [...found].map(([, code = ""]) => code);
}

/** Each kind of command has one test; a block is of the kind of its first word. */
const kinds = {
  /** test/scenario/examples.test.ts */
  curl: /^curl /,
  /** test/launcher/handbooks.test.ts */
  launcher: /^\.\/(launch|always-up)\.sh(?! --demo)/,
  simulators: /^node_modules\/\.bin\/node src\/simulator/,
  /** test/launcher/demo.test.ts */
  demo: /^\.\/launch\.sh --demo$/m,
};

/** The blocks of one kind that are to be run, page by page; every one of `undefined` is of none. */
export function blocksOf(kind: keyof typeof kinds | undefined): ShellBlock[] {
  const wanted = (code: string): boolean => {
    const of = Object.entries(kinds).find(([, begin]) => begin.test(code));
    return of?.[0] === kind;
  };
  return handbooks
    .flatMap(shellBlocks)
    .filter(({ code, notRun }) => notRun === undefined && wanted(code));
}
