import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseSync } from "vite";
import { expect, test } from "vitest";
import { type Node, visit } from "./modules.ts";
import { repositoryFiles, root, type Source, typescriptSources } from "./sources.ts";

const LINE_COLUMNS_MAX = 100;
const FUNCTION_LINES_MAX = 70;
const FILE_LINES_MAX = 450;
/** A file that is one exported table is read row by row. */
const TABLE_LINES_MAX = 600;
const FOLDER_FILES_MAX = 15;

/** Functions that read better whole than cut, each with the reason. */
const wholeFunctions: Readonly<Record<string, string>> = {
  "test/simulation/processes.ts startTpManager":
    "the start of a program in its order: every part is given the parts before it",
  "test/support/house/payment-house.ts openHouse":
    "the start of a program in its order: every part is given the parts before it",
  "test/supervisor/full-supervisor.ts fullSupervisor":
    "a table: for each table of the database, the statement that fills it",
  "test/tp-manager/journal/full-journal.ts fullJournal":
    "a table: for each table of the database, the statement that fills it",
};

const scripts = repositoryFiles("src", "examples", "test")
  .filter((path) => path.endsWith(".js") && existsSync(`${root}/${path}`))
  .map((path): Source => ({ path, text: readFileSync(`${root}/${path}`, "utf8") }));
const sources = [...typescriptSources(), ...scripts];

test("no line is longer than 100 columns", () => {
  const long = sources.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, i) => (line.length > LINE_COLUMNS_MAX ? [`${path}:${i + 1}`] : [])),
  );
  expect(long).toEqual([]);
});

test("no file is longer than 450 lines, or 600 where one table is most of it", () => {
  const long = sources.filter((source) => {
    const lines = linesOf(source.text);
    return lines > FILE_LINES_MAX && lines > (isTable(source) ? TABLE_LINES_MAX : FILE_LINES_MAX);
  });
  expect(long.map(({ path }) => path)).toEqual([]);
});

test("no function or test is longer than 70 lines, but for those that read better whole", () => {
  const long = sources.flatMap(longFunctions);
  const whole = Object.keys(wholeFunctions);
  expect(long.filter(({ name }) => !whole.includes(name)).map(({ at }) => at)).toEqual([]);
  expect(whole.filter((name) => !long.some((one) => one.name === name))).toEqual([]);
});

test("no folder without a subfolder has more than 15 files, tables excepted", () => {
  const folders = Map.groupBy(repositoryFiles("src", "test/support"), (path) => dirname(path));
  const hasSubfolder = (folder: string) =>
    [...folders.keys()].some((other) => other.startsWith(`${folder}/`));
  const full = [...folders].flatMap(([folder, files]) => {
    const count = files.filter((path) => !path.endsWith(".json")).length;
    return count > FOLDER_FILES_MAX && !hasSubfolder(folder)
      ? [`${folder} has ${count} files`]
      : [];
  });
  expect(full).toEqual([]);
});

test("nothing is left to do later", () => {
  const marks = new RegExp(`\\b(${["TO", "DO|FIX", "ME|X", "XX|HA", "CK"].join("")})\\b`);
  const marked = sources.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, i) => (marks.test(line) ? [`${path}:${i + 1}`] : [])),
  );
  expect(marked).toEqual([]);
});

function linesOf(text: string): number {
  return text.split("\n").length - 1;
}

/** One exported constant takes more than half of the file. */
function isTable({ path, text }: Source): boolean {
  const { body } = parseSync(path, text).program;
  return body.some(
    (statement) =>
      statement.type === "ExportNamedDeclaration" &&
      statement.declaration?.type === "VariableDeclaration" &&
      linesOf(text.slice(statement.start, statement.end)) > linesOf(text) / 2,
  );
}

/** A call that defines tests: a function around one, as that of `describe`, only holds tests. */
const definesTests = /^\s*(?:describe|it|test|alone)\b[.(]/m;

const isFunction = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

function longFunctions({ path, text }: Source): Array<{ name: string; at: string }> {
  if (linesOf(text) <= FUNCTION_LINES_MAX) return [];
  const parsed = parseSync(path, text);
  expect(parsed.errors, path).toEqual([]);
  const long: Node[] = [];
  visit(parsed.program as unknown as Node, (node) => {
    if (linesOf(text.slice(node.start, node.end)) < FUNCTION_LINES_MAX) return false;
    if (isFunction.test(node.type)) long.push(node);
    return true;
  });
  return long
    .filter(({ start, end }) => !definesTests.test(text.slice(start, end)))
    .map(({ start, end, id }) => {
      const lines = linesOf(text.slice(start, end)) + 1;
      const line = linesOf(text.slice(0, start)) + 1;
      const name = `${path} ${id ? text.slice(id.start, id.end) : ""}`;
      return { name, at: `${path}:${line} has ${lines} lines` };
    });
}
