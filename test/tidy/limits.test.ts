import { dirname } from "node:path";
import { parseSync } from "vite";
import { expect, test } from "vitest";
import { type Node, visit } from "./modules.ts";
import { repositoryFiles, type Source, typescriptSources } from "./sources.ts";

const LINE_COLUMNS_MAX = 100;
const FUNCTION_LINES_MAX = 70;
const FILE_LINES_MAX = 450;
/** A file that is one exported table is read row by row. */
const TABLE_LINES_MAX = 600;
const FOLDER_FILES_MAX = 15;

const sources = typescriptSources();

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

test("no function is longer than 70 lines", () => {
  expect(sources.filter(({ path }) => !path.startsWith("test/")).flatMap(longFunctions)).toEqual(
    [],
  );
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

function longFunctions({ path, text }: Source): string[] {
  const parsed = parseSync(path, text);
  expect(parsed.errors, path).toEqual([]);
  const found: string[] = [];
  visit(parsed.program as unknown as Node, (node) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
      return;
    }
    const lines = text.slice(node.start, node.end).split("\n").length;
    const line = text.slice(0, node.start).split("\n").length;
    if (lines > FUNCTION_LINES_MAX) found.push(`${path}:${line} has ${lines} lines`);
  });
  return found;
}
