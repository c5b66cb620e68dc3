import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { settingsIn } from "../../shared/program/installation.ts";
import {
  copiesOf,
  fileTime,
  isSet,
  type StoreName,
  storeNames,
} from "../../shared/store/copies.ts";
import { decidePutBack, finishPutBack, keptIn, stageCopy } from "../../shared/store/put-back.ts";
import { openForReading } from "../../shared/store/sqlite.ts";
import { systemClock } from "../../shared/time.ts";
import { type CommandContext, filled } from "../output.ts";
import { withLaunchLock, withProgramLocks } from "../processes/locks.ts";
import { findProcesses, programSpecs } from "../processes/process-table.ts";
import { dataAsTyped } from "../schedule/entry.ts";
import texts from "../texts-en.json" with { type: "json" };

interface Copy {
  readonly store: StoreName;
  /** The copy's day or name, or the folder in which the operator has it. */
  readonly day: string;
  readonly path: string;
}

/** A table that only this database has. */
const ownTable: Readonly<Record<StoreName, string>> = { journal: "attempt", supervisor: "outbox" };

/**
 * Restores both databases, or the database that `subject` names, from copies
 * (docs/rules/17-loss.md): from the newest copies, or from those of the day `from` (YYYY-MM-DD), or
 * from the folder `from` of the command backup. The present databases are kept under another name.
 * A note in the data folder makes the programs import from each other what happened since the copy.
 * Throws {@link ProgramExit} when the programs run or a copy is missing or damaged; then nothing
 * has changed.
 */
export function restore(context: CommandContext, wanted: Wanted): Promise<number> {
  return withLaunchLock(context, async () => restoreHere(context, wanted));
}

interface Wanted {
  readonly subject?: string | undefined;
  readonly from?: string | undefined;
}

function restoreHere(context: CommandContext, { subject, from }: Wanted): number {
  const { dataDirectory, clock, output } = context;
  const running = programSpecs(dataDirectory).filter((spec) => findProcesses(spec).length > 0);
  // The copies are checked next, so that nobody stops the kiosk for a copy that is not there.
  const wanted = storeNames.filter((store) => subject === undefined || subject === store);
  const copies = wanted.map((store) => copyOf(context, store, from));
  if (running.length > 0) {
    const names = running.map(({ name }) => name).join(" and ");
    throw new ProgramExit(
      exitCodes.alreadyRunning,
      `${names} runs: first run ./launch.sh stop${dataAsTyped(dataDirectory)}`,
    );
  }
  // While these locks are held, no program can start with one database restored and one not.
  withProgramLocks(dataDirectory, () => {
    const aside = putBack(dataDirectory, copies, fileTime(clock.now()));
    for (const copy of copies) {
      output.row(`${copy.store}.db`, "good", "restored", `from the copy of ${copy.day}`);
    }
    if (readdirSync(aside).length > 0) output.row("present files", "plain", "kept", aside);
  });
  const { journal, supervisor, unknown, both, start } = texts.restored;
  if (subject !== "supervisor") output.note(journal);
  if (subject !== "journal") output.note(supervisor);
  if (subject !== "supervisor") output.note(subject === "journal" ? unknown : both);
  output.note(start);
  return exitCodes.ok;
}

/**
 * Replaces the databases with their copies, and returns the folder of the replaced files. All
 * copies are complete next to the databases before the first database is replaced.
 */
function putBack(data: string, copies: readonly Copy[], at: string): string {
  const targetOf = ({ store }: Copy): string => join(data, `${store}.db`);
  // An earlier restore that was cut off is finished first, because an operator had ordered it.
  for (const copy of copies) finishPutBack(targetOf(copy));
  for (const copy of copies) stageCopy(targetOf(copy), copy.path, at);
  for (const copy of copies) {
    const because = `it was put back by ./launch.sh restore from the copy of ${copy.day}`;
    decidePutBack(targetOf(copy), at, because);
  }
  return keptIn(join(data, "journal.db"), at);
}

/** Returns a database's newest copy, or the `wanted` one. Throws if it is missing or damaged. */
function copyOf(
  { dataDirectory, configFile }: CommandContext,
  store: StoreName,
  wanted: string | undefined,
): Copy {
  const folder = join(dataDirectory, "backup");
  const names = copiesOf(folder, store, systemClock.now());
  const name = wanted ?? names.at(-1);
  const isHere = name !== undefined && names.includes(name);
  if (name === undefined || !(isHere || isSet(basename(name)))) {
    const there = names.length === 0 ? "there is none" : `there are ${names.join(", ")}`;
    const which = wanted === undefined ? "a copy" : `the copy ${wanted}`;
    const next = filled(texts.backup.missing, (name) => settingsIn(configFile)(name) || "night");
    const why = `${which} of ${store}.db is not in ${folder}: ${there}. ${next}`;
    throw new ProgramExit(exitCodes.unavailable, why);
  }
  const file = isSet(basename(name)) ? join(name, `${store}.db`) : `${store}-${name}.db`;
  const path = isHere ? join(folder, file) : resolve(file);
  if (!existsSync(path)) throw new ProgramExit(exitCodes.unavailable, `${path} is not there`);
  refuseDamaged(path, store);
  return { store, day: isHere ? name : dirname(path), path };
}

function refuseDamaged(path: string, store: StoreName): void {
  let verdict: unknown;
  try {
    const database = openForReading(path);
    try {
      verdict = database.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
      // SQLite calls an empty file a whole database.
      const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?");
      if (!table.get(ownTable[store])) verdict = `it holds no ${store}.db`;
    } finally {
      database.close();
    }
  } catch (error) {
    verdict = (error as Error).message;
  }
  if (verdict === "ok") return;
  throw new ProgramExit(exitCodes.unavailable, `${path} is damaged: ${String(verdict)}`);
}
