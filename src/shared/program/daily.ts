import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ScheduledTask } from "node-cron";
import type { AlarmLog } from "../process/logger.ts";
import { COPIES_KEPT, dayOf, daysOfCopies, startCopying } from "../store/copies.ts";
import type { WriteProof } from "../store/write-proof.ts";
import { type Clock, DAY_MS, MINUTE_MS, sleep } from "../time.ts";

/**
 * Waits until a chore may take its next step: a pause, and an idle moment. Resolves with false when
 * the program is being stopped: the chore ends, and goes on the next day.
 */
export type MayGoOn = () => Promise<boolean>;

/** A task that a program carries out once a day. */
export interface Chore {
  readonly name: string;
  readonly run: (mayGoOn: MayGoOn) => void | Promise<void>;
  /** Deletes the files that the task left when it was interrupted. */
  readonly clear?: () => void;
}

interface DailyOptions {
  /** The time of day of the chores (UPDATE_TIME), hh:mm local time. */
  readonly at: string;
  /** Returns whether the program is idle; the chores wait for this, but at most an hour. */
  readonly idle: () => boolean;
  readonly chores: readonly Chore[];
  readonly clock: Clock;
  readonly log: AlarmLog;
}

const AFTER_START_MS = 100;
/** How long before the chores their task is started: twice an hour that summer time may skip. */
const NEAR_MINUTES = 120;
const NEAR_CHECK_MS = 10 * MINUTE_MS;
const DAY_MINUTES = DAY_MS / MINUTE_MS;
const IDLE_POLL_MS = 15_000;
const IDLE_WAIT_MAX_MS = 3_600_000;
/** The pause between two steps of a chore, and how often a busy program is asked in between. */
const STEP_PAUSE_MS = 20;
const STEP_POLL_MS = 1_000;

/**
 * Runs the chores each day at their time. node-cron is loaded after the start, and its task started
 * when the chores are near, because node-cron then makes Node read the data of all languages.
 */
export function startDaily(options: DailyOptions): { stop(): Promise<void> } {
  const { at, clock } = options;
  let created: Promise<ScheduledTask> | undefined;
  let isStopped = false;
  clearLeftovers(options);
  const checkIn = (ms: number) => clock.startTimer("daily chores", ms, () => void check());
  const check = async (): Promise<void> => {
    created ??= createDaily(options, () => isStopped);
    const task = await created;
    if (isNear(at, clock.now())) await task.start();
    else if (task.getStatus() !== "destroyed") timer = checkIn(NEAR_CHECK_MS);
  };
  let timer = checkIn(AFTER_START_MS);
  return {
    async stop() {
      isStopped = true;
      timer.clear();
      await (await created)?.destroy();
      timer.clear();
    },
  };
}

/** Whether a time of day, hh:mm local time, comes within the next {@link NEAR_MINUTES}. */
function isNear(at: string, nowMs: number): boolean {
  const [hours = 0, minutes = 0] = at.split(":").map(Number);
  const now = new Date(nowMs);
  const left = (hours - now.getHours()) * 60 + minutes - now.getMinutes();
  return (left + DAY_MINUTES) % DAY_MINUTES <= NEAR_MINUTES;
}

/** Deletes the files that interrupted chores left; a program starts even if that fails. */
function clearLeftovers({ chores, log }: DailyOptions): void {
  for (const { name, clear } of chores) {
    try {
      clear?.();
    } catch (error) {
      log.warn({ chore: name, err: error }, "could not delete unfinished files of a daily chore");
    }
  }
}

async function createDaily(
  options: DailyOptions,
  isStopped: () => boolean,
): Promise<ScheduledTask> {
  const [hours, minutes] = options.at.split(":").map(Number);
  const { createTask } = await import("node-cron");
  return createTask(`${minutes} ${hours} * * *`, () => runChores(options, isStopped), {
    name: "daily chores",
    noOverlap: true,
  });
}

/** Runs all chores; a failed chore is logged and tried again the next day. */
export async function runChores(
  { idle, chores, clock, log }: DailyOptions,
  isStopped = () => false,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + IDLE_WAIT_MAX_MS;
  while (!idle()) {
    if (clock.monotonicMs() > deadlineMs) {
      log.warn("the daily chores did not run today, because the program was never idle");
      return;
    }
    await sleep(clock, "idle moment for the daily chores", IDLE_POLL_MS);
  }
  const mayGoOn = async (): Promise<boolean> => {
    await sleep(clock, "next step of a daily chore", STEP_PAUSE_MS);
    while (!isStopped() && !idle()) await sleep(clock, "next step of a daily chore", STEP_POLL_MS);
    return !isStopped();
  };
  for (const chore of chores) {
    try {
      await chore.run(mayGoOn);
      if (!isStopped()) log.info({ chore: chore.name }, "daily chore done");
    } catch (error) {
      log.error({ chore: chore.name, err: error, alarm: "daily-chore" }, "a daily chore failed");
    }
    if (isStopped()) return;
  }
}

/**
 * Returns the chore that copies a database in use into `<data>/backup` and keeps the newest copies.
 * A separate program (copy-database.ts) makes the copy, so that payments continue. When the copy is
 * whole and checked, `copied` begins the database's next session and the copy gets its name.
 */
export function backupChore(
  databasePath: string,
  clock: Clock,
  copied: () => void,
  proof?: WriteProof,
) {
  const folder = join(dirname(databasePath), "backup");
  const name = basename(databasePath, ".db");
  const unfinished = join(folder, `${name}.unfinished`);
  // Deletes the unfinished copy of an interrupted run: it may be what fills the disk.
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
        // `assertKept` throws if the database's path leads to another file than the open one.
        proof?.assertKept();
        await copyDatabase(databasePath, unfinished);
        proof?.assertKept();
        copied();
        const nowMs = clock.now();
        const fileOf = (day: string): string => join(folder, `${name}-${day}.db`);
        renameSync(unfinished, fileOf(dayOf(nowMs)));
        const days = daysOfCopies(folder, name, nowMs);
        for (const old of days.slice(0, -COPIES_KEPT)) rmSync(fileOf(old));
      } finally {
        clear();
      }
    },
  } satisfies Chore;
}

/** Copies a database in another process, which is killed if this one ends. Rejects on failure. */
async function copyDatabase(from: string, to: string): Promise<void> {
  const { done, kill } = startCopying(from, to);
  process.once("exit", kill);
  try {
    await done;
  } finally {
    process.off("exit", kill);
  }
}

/** Returns the chore that removes a program's logs that were renamed more than `days` ago. */
export function oldLogsChore(logFile: string, days: number, clock: Clock) {
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
  } satisfies Chore;
}
