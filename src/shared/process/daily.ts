import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ScheduledTask } from "node-cron";
import { dayOf, daysOfCopies, startCopying } from "../store/copies.ts";
import type { Store } from "../store/store.ts";
import type { WriteProof } from "../store/write-proof.ts";
import { type Clock, sleep } from "../time.ts";
import type { AlarmLog } from "./logger.ts";

/** One thing to do each day. */
export interface Chore {
  readonly name: string;
  readonly run: () => void | Promise<void>;
  /** Deletes what an interrupted run left. */
  readonly clear?: () => void;
}

interface DailyOptions {
  /** UPDATE_TIME, hh:mm local time. */
  readonly at: string;
  /** Whether nothing else goes on; chores wait for that, but not longer than an hour. */
  readonly idle: () => boolean;
  readonly chores: readonly Chore[];
  readonly clock: Clock;
  readonly log: AlarmLog;
}

const AFTER_START_MS = 100;
const IDLE_POLL_MS = 15_000;
const IDLE_WAIT_MAX_MS = 3_600_000;
/** How many copies of each database are kept: the newest, and one from before it was damaged. */
const BACKUPS_KEPT = 2;
const DAY_MS = 24 * 3_600_000;

/**
 * Does the daily chores at their time, when nothing else goes on. node-cron is large, so it is
 * loaded when the program is ready.
 */
export function startDaily(options: DailyOptions): { stop(): Promise<void> } {
  let task: Promise<ScheduledTask> | undefined;
  clearLeftovers(options);
  const timer = options.clock.startTimer("daily chores", AFTER_START_MS, () => {
    task = scheduled(options);
  });
  return {
    async stop() {
      timer.clear();
      await (await task)?.destroy();
    },
  };
}

/** Deletes leftovers; a program starts even if one cannot be deleted. */
function clearLeftovers({ chores, log }: DailyOptions): void {
  for (const { name, clear } of chores) {
    try {
      clear?.();
    } catch (error) {
      log.warn({ chore: name, err: error }, "the leftovers of a daily chore could not be deleted");
    }
  }
}

async function scheduled(options: DailyOptions): Promise<ScheduledTask> {
  const [hours, minutes] = options.at.split(":").map(Number);
  const { schedule } = await import("node-cron");
  return schedule(`${minutes} ${hours} * * *`, () => runChores(options), {
    name: "daily chores",
    noOverlap: true,
  });
}

/**
 * Runs all chores. A failure is logged, the other chores are done, and the chore is tried again the
 * next day.
 */
export async function runChores({ idle, chores, clock, log }: DailyOptions): Promise<void> {
  const deadlineMs = clock.monotonicMs() + IDLE_WAIT_MAX_MS;
  while (!idle()) {
    if (clock.monotonicMs() > deadlineMs) {
      log.warn("the daily chores are left out today: there was no idle moment");
      return;
    }
    await sleep(clock, "idle moment for the daily chores", IDLE_POLL_MS);
  }
  for (const chore of chores) {
    try {
      await chore.run();
      log.info({ chore: chore.name }, "daily chore done");
    } catch (error) {
      log.error({ chore: chore.name, err: error, alarm: "daily-chore" }, "a daily chore failed");
    }
  }
}

/**
 * Copies a database that is in use into `<data>/backup` and keeps the newest copies. A program of
 * its own does the work (copy-database.ts), so payments go on meanwhile. The copy gets its name
 * when it is whole and checked; then {@link Store.copied} begins a new session.
 */
export function backupChore(
  databasePath: string,
  clock: Clock,
  store: Pick<Store, "copied">,
  proof?: Pick<WriteProof, "assertKept">,
): Chore {
  const folder = join(dirname(databasePath), "backup");
  const name = basename(databasePath, ".db");
  const unfinished = join(folder, `${name}.unfinished`);
  // An unfinished copy takes room, and may be why the disk is full.
  const clear = (): void => {
    for (const ending of ["", "-journal"]) rmSync(`${unfinished}${ending}`, { force: true });
  };
  return {
    name: `backup of ${basename(databasePath)}`,
    clear,
    async run() {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      clear();
      try {
        // The name may lead to another file than the open one.
        proof?.assertKept();
        await copyDatabase(databasePath, unfinished);
        proof?.assertKept();
        chmodSync(unfinished, 0o600);
        store.copied();
        const nowMs = clock.now();
        const fileOf = (day: string): string => join(folder, `${name}-${day}.db`);
        renameSync(unfinished, fileOf(dayOf(nowMs)));
        const days = daysOfCopies(folder, name, nowMs);
        for (const old of days.slice(0, -BACKUPS_KEPT)) rmSync(fileOf(old));
      } finally {
        clear();
      }
    },
  };
}

/** Copies a database in another process, which ends with this one. Rejects with its error. */
async function copyDatabase(from: string, to: string): Promise<void> {
  const { done, kill } = startCopying(from, to);
  process.once("exit", kill);
  try {
    await done;
  } finally {
    process.off("exit", kill);
  }
}

/** Removes logs of one program that were renamed more than `days` ago (log-file.ts). */
export function oldLogsChore(logFile: string, days: number, clock: Clock): Chore {
  return {
    name: `old logs of ${basename(logFile)}`,
    run() {
      const folder = dirname(logFile);
      for (const file of readdirSync(folder)) {
        if (!file.startsWith(`${basename(logFile)}.`)) continue;
        const path = join(folder, file);
        if (clock.now() - statSync(path).mtimeMs > days * DAY_MS) rmSync(path);
      }
    },
  };
}
