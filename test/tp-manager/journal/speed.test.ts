import { expect, test } from "vitest";
import type { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { isWhole } from "../../support/run/scope.ts";
import { typescriptSources } from "../../tidy/sources.ts";
import { fullJournal } from "./full-journal.ts";
import { type Values, waysToRun } from "./ways-to-run.ts";

/** Two journals in the same proportion, less than half as long outside the whole scope. */
const SMALL = isWhole ? 1_000 : 400;
const LARGE = 100 * SMALL;
const RUNS = 7;
/** A statement may take this many times as long in a journal that is a hundred times as long. */
const FACTOR_MAX = 5;
/** Whatever is faster searches no {@link LARGE} rows: below this only the timer is measured. */
const FAST_MS = 0.02;
/** A statement that reads hundreds of rows is interrupted in each of a few runs by other work. */
const ROUNDS_MAX = 20;

test("a statement takes as long in a long journal as in a short one", () => {
  const short = fullJournal(SMALL);
  const long = fullJournal(LARGE);
  const names = long.statements.list.map(({ name }) => name);
  expect(Object.keys(waysToRun).sort()).toEqual([...names].sort());

  const found = names.map((name) => {
    let before: number[] = [];
    let after: number[] = [];
    let factor = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS_MAX && factor > FACTOR_MAX; round += 1) {
      before = shorterOf(timesOf(short, name, SMALL), before);
      after = shorterOf(timesOf(long, name, LARGE), after);
      const factors = after.map((ms, way) => ms / Math.max(before[way] ?? 0, FAST_MS));
      factor = Math.round(Math.max(...factors));
    }
    return { name, factor };
  });
  const grown = found.filter(({ factor }) => factor > FACTOR_MAX);
  expect(grown.map((one) => explained(long, one))).toEqual([]);
});

test("only statements, opening and audit of the journal see a database", () => {
  const seeing = typescriptSources().filter(
    ({ path, text }) =>
      path.startsWith("src/tp-manager/") && /DatabaseSync|openForReading|[.]database\b/.test(text),
  );
  expect(seeing.map(({ path }) => path.replace("src/tp-manager/", "")).sort()).toEqual([
    "audit/audit-journal.ts",
    "audit/main.ts",
    "journal/database/statements.ts",
    "journal/journal.ts",
  ]);
});

function shorterOf(times: readonly number[], earlier: readonly number[]): number[] {
  return times.map((ms, way) => Math.min(ms, earlier[way] ?? ms));
}

function timesOf(journal: Journal, name: string, n: number): number[] {
  const ways = waysToRun[name]?.(n) ?? [];
  return ways.map((values) => fastest(journal, name, values));
}

/** The shortest of several runs, each undone: a busy machine cannot lengthen all of them. */
function fastest({ database, statements }: Journal, name: string, values: Values): number {
  const statement = statements.list.find((one) => one.name === name);
  const times: number[] = [];
  while (times.length < RUNS) {
    database.exec("BEGIN IMMEDIATE");
    const begun = performance.now();
    statement?.all(...values);
    times.push(performance.now() - begun);
    database.exec("ROLLBACK");
  }
  return Math.min(...times);
}

function explained({ database, statements }: Journal, one: { name: string; factor: number }) {
  const sql = statements.list.find(({ name }) => name === one.name)?.sql ?? "";
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  const steps = plan.map(({ detail }) => `  ${detail}`).join("\n");
  return `${one.name} takes ${one.factor} times as long:\n${sql}\n${steps}`;
}
