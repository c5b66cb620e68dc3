import { expect, test } from "vitest";
import type { Journal } from "../../../src/tp-manager/journal/journal.ts";
import { typescriptSources } from "../../tidy/sources.ts";
import { fullJournal } from "./full-journal.ts";
import { type Values, waysToRun } from "./ways-to-run.ts";

const SMALL = 1_000;
const LARGE = 100_000;
const RUNS = 7;
/** A statement may take this many times as long in a journal that is a hundred times as long. */
const FACTOR_MAX = 5;
/** Whatever is faster searches no {@link LARGE} rows: below this only the timer is measured. */
const FAST_MS = 0.02;
/** One run of this length shows that a statement known to grow still does. */
const SLOW_MS = 20;

/**
 * Statements that take longer the longer the journal is, and how many times as long each took once
 * (100 at least; the rest is memory that the short journal does not need). One that no longer grows
 * must go from this list.
 */
const growing: Readonly<Record<string, number>> = {
  "attempts listed all": 300,
  "attempts listed Success": 450,
  "attempts listed Approved": 540,
  "attempts listed Declined": 320,
  "attempts listed Cancelled": 500,
  "attempts listed Failed": 440,
  "attempts listed Reversed": 320,
  "archived listed all": 340,
  "archived listed Success": 210,
  "archived listed Approved": 350,
  "archived listed Declined": 350,
  "archived listed Cancelled": 490,
  "archived listed Failed": 430,
  "archived listed Reversed": 180,
  "archived listed Unknown": 200,
  "evidence nextAttempt": 480,
  "terminalLog soldSince": 550,
  "terminalLog telecollectionSince": 410,
};

const listed = (name: string): boolean => Object.hasOwn(growing, name);

test("a statement takes as long in a long journal as in a short one", () => {
  const short = fullJournal(SMALL);
  const long = fullJournal(LARGE);
  const names = long.statements.list.map(({ name }) => name);
  expect(Object.keys(waysToRun).sort()).toEqual([...names].sort());
  expect(Object.keys(growing).filter((name) => !names.includes(name))).toEqual([]);

  const found = names.map((name) => {
    const before = timesOf(short, name, SMALL);
    const after = timesOf(long, name, LARGE);
    const factors = after.map((ms, way) => ms / Math.max(before[way] ?? 0, FAST_MS));
    return { name, factor: Math.round(Math.max(...factors)) };
  });
  const grown = found.filter(({ factor }) => factor > FACTOR_MAX);
  expect(grown.filter(({ name }) => !listed(name)).map((one) => explained(long, one))).toEqual([]);
  const flat = found.filter(({ name, factor }) => listed(name) && factor <= FACTOR_MAX);
  expect(flat, "no longer grows: take it off the list").toEqual([]);
});

test("only statements, opening, backup and audit of the journal see a database", () => {
  const seeing = typescriptSources().filter(
    ({ path, text }) =>
      path.startsWith("src/tp-manager/") && /DatabaseSync|openForReading|[.]database\b/.test(text),
  );
  expect(seeing.map(({ path }) => path.replace("src/tp-manager/", "")).sort()).toEqual([
    "audit/audit-journal.ts",
    "audit/main.ts",
    "journal/journal.ts",
    "journal/statements.ts",
    "main.ts",
  ]);
});

function timesOf(journal: Journal, name: string, n: number): number[] {
  const ways = waysToRun[name]?.(n) ?? [];
  return ways.map((values) => fastest(journal, name, values));
}

/** The shortest of several runs, each undone: a busy machine cannot lengthen all of them. */
function fastest({ database, statements }: Journal, name: string, values: Values): number {
  const statement = statements.list.find((one) => one.name === name);
  const times: number[] = [];
  const isEnough = (): boolean =>
    times.length === RUNS || (listed(name) && times.some((ms) => ms > SLOW_MS));
  while (!isEnough()) {
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
