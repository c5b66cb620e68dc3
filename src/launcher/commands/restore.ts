import { join } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { copiesOf, fileTime } from "../../shared/store/copies.ts";
import { decidePutBack, finishPutBack, keptIn, stageCopy } from "../../shared/store/put-back.ts";
import { openForReading } from "../../shared/store/sqlite.ts";
import { systemClock } from "../../shared/time.ts";
import type { CommandContext } from "../output.ts";
import { withLaunchLock, withProgramLocks } from "../processes/locks.ts";
import { findProcesses, programSpecs } from "../processes/process-table.ts";
import texts from "../texts-en.json" with { type: "json" };

const stores = ["journal", "supervisor"] as const;
type Restorable = (typeof stores)[number];

interface Copy {
  readonly store: Restorable;
  readonly day: string;
  readonly path: string;
}

/**
 * Restores both databases, or the database that `subject` names, from copies
 * (docs/rules/17-loss.md): from the newest copies, or from those of the day `from` (YYYY-MM-DD).
 * The present databases are kept under another name. A note in the data folder makes the programs
 * import from each other what happened since the copy. Throws {@link ProgramExit} when the programs
 * run or a copy is missing or damaged; then nothing has changed.
 */
export function restore(context: CommandContext, wanted: Wanted): Promise<number> {
  return withLaunchLock(context, async () => restoreHere(context, wanted));
}

interface Wanted {
  readonly subject?: string | undefined;
  readonly from?: string | undefined;
}

function restoreHere(
  { dataDirectory, clock, output }: CommandContext,
  { subject, from }: Wanted,
): number {
  const running = programSpecs(dataDirectory).filter((spec) => findProcesses(spec).length > 0);
  if (running.length > 0) {
    const names = running.map(({ name }) => name).join(" and ");
    throw new ProgramExit(exitCodes.alreadyRunning, `${names} runs: first run ./launch.sh stop`);
  }
  const wanted = stores.filter((store) => subject === undefined || subject === store);
  const copies = wanted.map((store) => copyOf(dataDirectory, store, from));
  // While these locks are held, no program can start with one database restored and one not.
  withProgramLocks(dataDirectory, () => {
    const aside = putBack(dataDirectory, copies, fileTime(clock.now()));
    for (const copy of copies) {
      output.row(`${copy.store}.db`, "good", "restored", `from the copy of ${copy.day}`);
    }
    output.row("present files", "plain", "kept", aside);
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

/** Returns a database's newest copy, or its copy of `day`. Throws if it is missing or damaged. */
function copyOf(data: string, store: Restorable, day: string | undefined): Copy {
  const folder = join(data, "backup");
  const days = copiesOf(folder, store, systemClock.now());
  const chosen = day ?? days.at(-1);
  if (chosen === undefined || !days.includes(chosen)) {
    const there = days.length === 0 ? "there is none" : `there are ${days.join(", ")}`;
    const wanted =
      day === undefined ? `a copy of ${store}.db` : `the copy of ${store}.db of ${day}`;
    throw new ProgramExit(exitCodes.unavailable, `${wanted} is not in ${folder}: ${there}`);
  }
  const path = join(folder, `${store}-${chosen}.db`);
  refuseDamaged(path);
  return { store, day: chosen, path };
}

function refuseDamaged(path: string): void {
  let verdict: unknown;
  try {
    const database = openForReading(path);
    try {
      verdict = database.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
    } finally {
      database.close();
    }
  } catch (error) {
    verdict = (error as Error).message;
  }
  if (verdict === "ok") return;
  throw new ProgramExit(exitCodes.unavailable, `${path} is damaged: ${String(verdict)}`);
}
