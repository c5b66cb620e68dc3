import type { DatabaseSync, StatementSync } from "node:sqlite";
import { expect, test } from "vitest";
import { OutboxAdmin } from "../../src/supervisor/outbox/outbox-admin.ts";
import { isWhole, rowsOf } from "../support/run/scope.ts";
import { typescriptSources } from "../tidy/sources.ts";
import { everyStanding, fullSupervisor } from "./full-supervisor.ts";
import { runAll } from "./ways-to-run.ts";

/** Two databases in the same proportion, half as long outside the whole scope. */
const SMALL = isWhole ? 1_000 : 500;
const LARGE = 40 * SMALL;
const LISTED = 1_000;
const RUNS = 7;
/** A statement may take this many times as long in a database that is forty times as long. */
const FACTOR_MAX = 5;
/** Whatever is faster searches no {@link LARGE} rows: below this only the timer is measured. */
const FAST_MS = 0.02;
/** A statement that reads hundreds of rows is interrupted in each of a few runs by other work. */
const ROUNDS_MAX = 4;

/** By their nature, and by nobody but an operator or once in the life of a database. */
const growsWithWhatWaits = [
  // A loss of the database puts every item that waits in doubt, all in one commit.
  /^UPDATE outbox SET ambiguous = 1, .* WHERE state = 'pending' AND look_next = 0$/s,
  // An index of what was sent would be written by each payment.
  /WHERE sequence > :cursor AND state = 'sent'/,
];

test.each(rowsOf(everyStanding, 3))(
  "no statement takes longer with many orders %s",
  async (standing) => {
    const short = new Map<string, number[]>();
    const long = new Map<string, number[]>();
    let grown = ["not measured"];
    for (let round = 0; round < ROUNDS_MAX && grown.length > 0; round += 1) {
      await measure(SMALL, standing, short);
      const database = await measure(LARGE, standing, long);
      if (standing === everyStanding[0]) expect(notRun([...long.keys()])).toEqual([]);
      grown = [...long].flatMap(([sql, times]) => {
        if (growsWithWhatWaits.some((one) => one.test(sql)) && standing !== "sent long ago")
          return [];
        const before = short.get(sql) ?? [];
        const factors = times.map((ms, use) => ms / Math.max(before[use] ?? 0, FAST_MS));
        const factor = Math.round(Math.max(...factors));
        return factor > FACTOR_MAX ? [explained(database, sql, factor)] : [];
      });
    }
    expect(grown).toEqual([]);
  },
);

test.each(rowsOf(everyStanding, 3))(
  "with many %s the items in a state are listed in order",
  (standing) => {
    const database = fullSupervisor(LISTED, standing);
    const admin = new OutboxAdmin(database);
    for (const state of ["pending", "sent", "parked", "closed"] as const) {
      const all = database
        .prepare("SELECT sequence FROM outbox WHERE state = ? ORDER BY sequence")
        .all(state)
        .map(({ sequence }) => sequence);
      const listed: number[] = [];
      for (let more = true; more; ) {
        const page = admin.list(state, listed.at(-1) ?? 0, all.length < 10 ? 3 : 400);
        listed.push(...page.items.map(({ sequence }) => sequence));
        more = page.more;
      }
      expect([state, listed]).toEqual([state, all]);
    }
  },
);

/** Notes how long each use of each statement took at best; both sizes have the same uses. */
async function measure(
  n: number,
  standing: (typeof everyStanding)[number],
  best: Map<string, number[]>,
): Promise<DatabaseSync> {
  const database = fullSupervisor(n, standing);
  const uses = new Map<string, number[]>();
  watched(database, (sql, ms) => uses.set(sql, [...(uses.get(sql) ?? []), ms]));
  await runAll(database, n);
  for (const [sql, times] of uses) {
    const earlier = best.get(sql) ?? [];
    best.set(
      sql,
      times.map((ms, use) => Math.min(ms, earlier[use] ?? ms)),
    );
  }
  return database;
}

/** Each use of a statement is measured before it is carried out. */
function watched(database: DatabaseSync, note: (sql: string, ms: number) => void): void {
  const prepare = database.prepare.bind(database);
  database.prepare = (sql: string): StatementSync => {
    const statement = prepare(sql);
    if (!/^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql)) return statement;
    for (const way of ["get", "all", "run"] as const) {
      const use = statement[way].bind(statement) as (...values: unknown[]) => unknown;
      const measuring = (...values: unknown[]): unknown => {
        note(
          sql,
          fastest(database, () => use(...values)),
        );
        return use(...values);
      };
      Object.assign(statement, { [way]: measuring });
    }
    return statement;
  };
}

/** The shortest of several runs, each undone: a busy machine cannot lengthen all of them. */
function fastest(database: DatabaseSync, use: () => void): number {
  const times: number[] = [];
  while (times.length < RUNS) {
    database.exec("SAVEPOINT measured");
    const begun = performance.now();
    use();
    times.push(performance.now() - begun);
    database.exec("ROLLBACK TO measured; RELEASE measured");
  }
  return Math.min(...times);
}

/** Statements in the sources of the supervisor, fleet.db aside, that none of these is. */
function notRun(run: readonly string[]): string[] {
  const sources = typescriptSources().filter(
    ({ path }) =>
      /^src\/supervisor\//.test(path) && !/[/](?:fleet[/]|supervisor-schema[.]ts)/.test(path),
  );
  const flat = run.map(flattened);
  return sources.flatMap(({ text }) => {
    const literals = text.matchAll(
      /(?<quote>["`])(?<sql>\s*(?:SELECT|INSERT|UPDATE|DELETE) (?:(?!\k<quote>)[\s\S])*)/g,
    );
    return [...literals]
      .map(({ groups }) => groups?.["sql"] ?? "")
      .filter((sql) => {
        const parts = sql.split(/\$\{[^}]*\}/).map(flattened);
        return !flat.some((one) => parts.every((part) => one.includes(part)));
      });
  });
}

const flattened = (sql: string): string => sql.replace(/\s+/g, " ").trim();

function explained(database: DatabaseSync, sql: string, factor: number): string {
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  const steps = plan.map(({ detail }) => `  ${detail}`).join("\n");
  return `takes ${factor} times as long:\n${sql}\n${steps}`;
}
