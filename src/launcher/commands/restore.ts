import { join } from "node:path";
import { exitCodes, ProgramExit } from "../../shared/process/exit-codes.ts";
import { copiesOf, fileTime } from "../../shared/store/copies.ts";
import { decidePutBack, finishPutBack, keptIn, stageCopy } from "../../shared/store/put-back.ts";
import { openForReading } from "../../shared/store/sqlite.ts";
import { systemClock } from "../../shared/time.ts";
import type { CommandContext } from "../output.ts";
import { withLaunchLock, withProgramLocks } from "../processes/locks.ts";
import { findProcesses, programSpecs } from "../processes/process-table.ts";

const restorable = ["journal", "supervisor"] as const;
type Restorable = (typeof restorable)[number];

interface Wanted {
  /** undefined: both. */
  readonly store: Restorable | undefined;
  /** As in the copy's name, YYYY-MM-DD for a nightly one; undefined: the newest copy. */
  readonly day: string | undefined;
}

interface Copy {
  readonly store: Restorable;
  readonly day: string;
  readonly path: string;
}

/**
 * Puts copies of the databases back (docs/rules/17-loss.md). The present files are kept
 * aside. A note for the programs lets them import from each other what happened since the copy.
 * Throws {@link ProgramExit} when the programs run, or when there is no whole copy; nothing has
 * changed then.
 */
export function restore(context: CommandContext, wanted: Wanted): Promise<number> {
  return withLaunchLock(context, () => restoreHere(context, wanted));
}

async function restoreHere(
  { installation, clock, output }: CommandContext,
  { store, day }: Wanted,
): Promise<number> {
  const data = installation.dataDirectory;
  const running = programSpecs(data).filter((spec) => findProcesses(spec).length > 0);
  if (running.length > 0) {
    const names = running.map(({ name }) => name).join(" and ");
    throw new ProgramExit(exitCodes.alreadyRunning, `${names} runs: ./launch.sh stop comes first`);
  }
  const wanted = store === undefined ? restorable : [store];
  const copies = wanted.map((one) => copyOf(data, one, day));
  // However a program is started, it does not find a half of this.
  await withProgramLocks(data, () => {
    const aside = putBack(data, copies, fileTime(clock.now()));
    for (const copy of copies) {
      output.row(`${copy.store}.db`, "good", "restored", `from the copy of ${copy.day}`);
    }
    output.row("present files", "plain", "kept", aside);
  });
  for (const line of aftermath(store)) output.note(line);
  return exitCodes.ok;
}

/** All copies are there before the first one counts. Answers where the present files are. */
function putBack(data: string, copies: readonly Copy[], at: string): string {
  const targetOf = ({ store }: Copy): string => join(data, `${store}.db`);
  // An earlier restore that was cut off: what it had decided is the present state.
  for (const copy of copies) finishPutBack(targetOf(copy));
  for (const copy of copies) stageCopy(targetOf(copy), copy.path, at);
  for (const copy of copies) {
    const because = `it was put back by ./launch.sh restore from the copy of ${copy.day}`;
    decidePutBack(targetOf(copy), at, because);
  }
  return keptIn(join(data, "journal.db"), at);
}

/** The newest copy, or that of a day; only a whole one. */
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
  assertWhole(path);
  return { store, day: chosen, path };
}

function assertWhole(path: string): void {
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

/** Words about the next start, and about facts that no program can know. */
function aftermath(store: Restorable | undefined): string[] {
  const journal =
    "At the next start tp-manager imports what the supervisor has: charged, reversed, " +
    "returned and dropped orders. Until 24 hours and an end of day have passed each new order id " +
    "is looked up first (./launch.sh stores shows it, ./launch.sh stores accept ends it).";
  const supervisor =
    "At the next start tp-manager hands everything over again; what may have been sent since the " +
    "copy is looked up at the gateway before it is sent.";
  const unknown =
    "Not known: what was declined, cancelled or left in doubt since the copy, and a sale that " +
    "was charged but never handed over, unless it is the terminal's last one.";
  const both =
    "Both were put back: a sale since the copy is known only if the gateway has its order, or if " +
    "it is the terminal's last one. Compare the terminal's end of day with the orders.";
  return [
    ...(store === "supervisor" ? [] : [journal]),
    ...(store === "journal" ? [] : [supervisor]),
    ...(store === undefined ? [both] : store === "journal" ? [unknown] : []),
    "Start with ./launch.sh.",
  ];
}
