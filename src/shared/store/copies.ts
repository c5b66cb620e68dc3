import { spawn } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isoTime } from "../time.ts";
import { programFile } from "../version-files.ts";
import { assertWhole } from "./sqlite.ts";
import { copySynced, syncFile, syncFolder } from "./store-file.ts";

/** The databases of an installation, in the order in which they are copied. */
export const storeNames = ["journal", "supervisor"] as const;
export type StoreName = (typeof storeNames)[number];

/** How many copies of a kind stay in `data/backup`: the newest may contain a new damage. */
export const COPIES_KEPT = 2;

const DAY = "\\d{4}-\\d\\d-\\d\\d";
const SET = "backup-";

/**
 * Returns the days of a database's nightly copies, the oldest first. A day in the future comes from
 * a wrong clock; its copy counts as the oldest, so that it is not preferred to the other copies
 * when one is restored or deleted (docs/rules/17-loss.md).
 */
export function daysOfCopies(folder: string, store: string, nowMs: number): string[] {
  return namesOf(new RegExp(`^${store}-(${DAY})\\.db$`), folder, nowMs);
}

/**
 * Returns the names of nightly copies, of saved copies (docs/design.md 2.2) and of copies that an
 * operator made, the oldest first. Those of one day are sorted by when they were written, because a
 * name may lack the time.
 */
export function copiesOf(folder: string, store: string, nowMs: number): string[] {
  const saved = `${store}-(${DAY}(?:-saved-\\d{6})?)\\.db`;
  return namesOf(new RegExp(`^(?:${saved}|(${SET}${DAY}-\\d{6}))$`), folder, nowMs);
}

/** Whether a name is that of a folder with copies of both databases. */
export const isSet = (name: string): boolean => name.startsWith(SET);

/** Returns the name for a folder with copies of both databases. */
export const setName = (ms: number): string => SET + savedName(ms).replace("saved-", "");

function namesOf(pattern: RegExp, folder: string, nowMs: number): string[] {
  const files = existsSync(folder) ? readdirSync(folder).sort() : [];
  const today = dayOf(nowMs);
  const copies = files.flatMap((file) => {
    const [, one, name = one] = pattern.exec(file) ?? [];
    if (name === undefined) return [];
    const day = name.replace(SET, "").slice(0, today.length);
    const writtenMs = statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { name, order: `${day > today ? 0 : 1} ${day}`, writtenMs };
  });
  copies.sort(
    (one, other) => one.order.localeCompare(other.order) || one.writtenMs - other.writtenMs,
  );
  return copies.map(({ name }) => name);
}

/** Returns the day in UTC as `2026-01-31`, the form in the names of copies. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Returns the name for a copy of a database whose file was lost while the database was open. */
export function savedName(ms: number): string {
  return `${dayOf(ms)}-saved-${fileTime(ms).slice(11, 19).replaceAll("-", "")}`;
}

/** Returns the time as `2026-01-31T12-34-56.789`, the form in the names of renamed files. */
export function fileTime(ms: number): string {
  return isoTime(ms).replaceAll(":", "-").slice(0, 23);
}

/**
 * Writes a snapshot of an open database into another file, checks the whole copy and syncs it.
 * Throws if the copy is damaged; the damaged copy is then not deleted.
 */
export function copyChecked(database: DatabaseSync, copyPath: string): void {
  database.prepare("VACUUM INTO ?").run(copyPath);
  check(copyPath);
}

/**
 * Copies an open file that holds a whole database and is not written meanwhile. The copy gets its
 * name only after it was checked. Throws if the copy is damaged.
 */
export function saveChecked(file: number, copyPath: string): void {
  const unfinished = unfinishedOf(copyPath);
  try {
    copySynced(file, unfinished);
    const copy = new DatabaseSync(unfinished);
    // The copy becomes one single file, without a write-ahead log next to it.
    copy.exec("PRAGMA journal_mode = DELETE");
    copy.close();
    check(unfinished);
    renameSync(unfinished, copyPath);
  } finally {
    clearUnfinished(copyPath);
  }
  syncFolder(dirname(copyPath));
}

const unfinishedOf = (copyPath: string): string => `${copyPath}.saving`;

/** Removes what an interrupted {@link saveChecked} has left. */
export function clearUnfinished(copyPath: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"]) {
    rmSync(`${unfinishedOf(copyPath)}${ending}`, { force: true });
  }
}

function check(copyPath: string): void {
  const copy = new DatabaseSync(copyPath, { readOnly: true });
  try {
    assertWhole(copy);
  } finally {
    copy.close();
  }
  syncFile(copyPath);
}

/** The longest time for a copy in ms; while a copy is made, the write-ahead log grows. */
const COPY_LIMIT_MS = 3_600_000;

/** The argument with which the copying program copies a file that it inherits open. */
export const OPEN_FILE = "-";
/** The file descriptor at which the copying program inherits the open file. */
export const OPEN_FILE_AT = 3;

/**
 * Copies a database in a separate program (copy-database.ts), so that payments continue meanwhile.
 * `from`: the path of the database, or the descriptor of an open file that holds all of it. `done`
 * resolves when the copy is made; it rejects with the error text of the copying program.
 */
export function startCopying(from: string | number, to: string) {
  const [name, files] = typeof from === "number" ? [OPEN_FILE, [from]] : [from, []];
  const program = spawn(process.execPath, [programFile("copy-database"), name, to], {
    stdio: ["ignore", "ignore", "pipe", ...files],
    timeout: COPY_LIMIT_MS,
    windowsHide: true,
  });
  let errors = "";
  program.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const done = new Promise<void>((resolve, reject) => {
    program.once("error", reject);
    program.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`copying the database ended with ${signal ?? code}: ${errors}`));
    });
  });
  return { done, kill: (): void => void program.kill("SIGKILL") };
}
