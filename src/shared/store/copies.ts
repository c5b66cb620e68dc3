import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isoTime } from "../time.ts";
import { programFile } from "../version-files.ts";
import { assertWhole } from "./sqlite.ts";
import { copySynced, syncFolder } from "./store-file.ts";

const DAY = "\\d{4}-\\d\\d-\\d\\d";

/**
 * The days of a store's nightly copies, the oldest first. A day in the future is of a wrong clock:
 * such a copy counts as older than the others, so that it is neither put back before them nor kept
 * instead of them (docs/rules/17-loss.md).
 */
export function daysOfCopies(folder: string, store: string, nowMs: number): string[] {
  return namesOf(new RegExp(`^${store}-(${DAY})\\.db$`), folder, nowMs);
}

/**
 * Like {@link daysOfCopies}, with the saved copies (docs/design.md 1.3). The name of a nightly copy
 * has no time, so of one day's copies the file that was written last is the newest.
 */
export function copiesOf(folder: string, store: string, nowMs: number): string[] {
  return namesOf(new RegExp(`^${store}-(${DAY}(?:-saved-\\d{6})?)\\.db$`), folder, nowMs);
}

function namesOf(pattern: RegExp, folder: string, nowMs: number): string[] {
  const files = existsSync(folder) ? readdirSync(folder).sort() : [];
  const today = dayOf(nowMs);
  const copies = files.flatMap((file) => {
    const name = pattern.exec(file)?.[1];
    if (name === undefined) return [];
    const day = name.slice(0, today.length);
    const writtenMs = statSync(join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { name, order: `${day > today ? 0 : 1} ${day}`, writtenMs };
  });
  copies.sort(
    (one, other) => one.order.localeCompare(other.order) || one.writtenMs - other.writtenMs,
  );
  return copies.map(({ name }) => name);
}

/** The day, as in the names of copies. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The name of a copy of a database whose file was lost while it was open. */
export function savedName(ms: number): string {
  return `${dayOf(ms)}-saved-${fileTime(ms).slice(11, 19).replaceAll("-", "")}`;
}

/** The time, as in the names of files that are kept under another name. */
export function fileTime(ms: number): string {
  return isoTime(ms).replaceAll(":", "-").slice(0, 23);
}

/**
 * Writes a snapshot of a database that is in use into another file, checks all of the copy and
 * syncs it. Throws when the copy is not good, and leaves what there is of it.
 */
export function copyChecked(database: DatabaseSync, copyPath: string): void {
  database.prepare("VACUUM INTO ?").run(copyPath);
  check(copyPath);
}

/**
 * Like {@link copyChecked}, from an open file that holds all of a database and is not written
 * meanwhile. The copy gets its name when it is good.
 */
export function saveChecked(file: number, copyPath: string): void {
  const unfinished = unfinishedOf(copyPath);
  try {
    copySynced(file, unfinished);
    const copy = new DatabaseSync(unfinished);
    // A copy has no write-ahead log.
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

/** Takes away the leftovers of a {@link saveChecked} that was killed. */
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
  const file = openSync(copyPath, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A limit, because a write-ahead log cannot begin anew while its database is copied. */
const COPY_LIMIT_MS = 3_600_000;

/** Instead of a name: the program gets the file open. */
export const OPEN_FILE = "-";
/** The descriptor of that file in the program. */
export const OPEN_FILE_AT = 3;

interface Copying {
  /** Rejects with the error text of the program. */
  readonly done: Promise<void>;
  /** Ends the program; the copy is not needed any more. */
  kill(): void;
}

/**
 * Copies a database in a program of its own (copy-database.ts), so that payments go on meanwhile.
 * `from`: its name, or the descriptor of an open file that holds all of it.
 */
export function startCopying(from: string | number, to: string): Copying {
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
      else reject(new Error(`the copying program ended with ${signal ?? code}: ${errors}`));
    });
  });
  return { done, kill: () => void program.kill("SIGKILL") };
}
