import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";

/** Adds a row whose columns are the members in snake case. Returns its id. */
export function insertRow(
  database: DatabaseSync,
  table: string,
  members: Readonly<Record<string, SQLInputValue>>,
): number {
  const names = Object.keys(members);
  const columns = names.map((name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`));
  const marks = names.map(() => "?").join(", ");
  const { lastInsertRowid } = database
    .prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`)
    .run(...Object.values(members));
  return Number(lastInsertRowid);
}

/** The columns of a row as members in camel case. */
export function membersOf(row: Record<string, SQLOutputValue>): Record<string, SQLOutputValue> {
  const members = Object.entries(row).map(
    ([column, value]) =>
      [column.replace(/_(.)/g, (_, c: string) => c.toUpperCase()), value] as const,
  );
  return Object.fromEntries(members);
}
