import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { openRunDirectory } from "../shared/ipc/run-directory.ts";
import { type ExclusiveLock, takeExclusiveLock } from "../shared/process/exclusive-lock.ts";
import { updateFolderOf } from "../shared/program/probation.ts";
import { readOr } from "../shared/read-or.ts";
import { readJsonIfWhole } from "../shared/store/store-file.ts";
import { type Clock, poll, sleep } from "../shared/time.ts";
import { readyFileOf, underWayFileOf } from "../shared/version-files.ts";
import { removeNow, writeJson } from "./durable-files.ts";
import { compareVersions } from "./offer-policy.ts";

/*
 * What an installation remembers of its updates (docs/updates.md 4.5). Only the holder of the
 * update lock writes the state. A hold of updates and the installation's id have files of their
 * own: an operator sets a hold while a check or a switch has the lock, and the id never changes.
 */

const orNull = <T extends z.ZodType>(schema: T) => schema.nullable().default(null);

const stateSchema = z.object({
  format: z.literal(1),
  /** Newer versions that were once offered; they stay offered if the rollout share is lowered. */
  offered: z.array(z.string()).default([]),
  /** Versions whose programs failed on this kiosk, or from which an operator went back. */
  barred: z.array(z.object({ version: z.string(), why: z.string(), atMs: z.number() })).default([]),
  /** When the last check for an update was made, in milliseconds since 1970; null: never. */
  checkedMs: orNull(z.number()),
  /** When metadata were last verified as fresh, in milliseconds since 1970; null: never. */
  freshMs: orNull(z.number()),
  /** When the first of the metadata expire, in milliseconds since 1970; null: not known. */
  expiresMs: orNull(z.number()),
  /** Why the last check for an update failed; all checks since `sinceMs` have failed. */
  fault: orNull(z.object({ code: z.string(), message: z.string(), sinceMs: z.number() })),
  /** The version that was ready and not installed, though it had no fault, and since when. */
  putOff: orNull(
    z.object({ version: z.string(), why: z.string(), sinceMs: z.number(), lastMs: z.number() }),
  ),
  /** The signed version that was unpacked last, with its target's hashes; null: none so far. */
  laid: orNull(z.object({ version: z.string(), hashes: z.string() })),
});
export type UpdateState = z.infer<typeof stateSchema>;

const fileIn =
  (name: string) =>
  (dataDirectory: string): string =>
    join(updateFolderOf(dataDirectory), name);

const stateIn = fileIn("state.json");
const holdIn = fileIn("hold.json");
const idIn = fileIn("installation.json");
const lastIn = fileIn("last.json");

/** Returns the state of updates; a damaged file counts as empty, and the next write replaces it. */
export function readState(dataDirectory: string): UpdateState {
  return readJsonIfWhole(stateIn(dataDirectory), stateSchema) ?? stateSchema.parse({ format: 1 });
}

/** Changes the state of updates, on disk when this returns. The caller holds the update lock. */
export function changeState(
  dataDirectory: string,
  change: (state: UpdateState) => Partial<UpdateState>,
): void {
  const before = readState(dataDirectory);
  const after = { ...before, ...change(before) };
  if (JSON.stringify(after) === JSON.stringify(before)) return;
  writeJson(stateIn(dataDirectory), after);
}

const BARRED_MAX = 20;

/**
 * Records the outcome of a switch: a version whose programs failed is barred; after another failure
 * it is put off. The caller holds the update lock, and can call this twice for one switch.
 */
export function rememberEnd(dataDirectory: string, record: SwitchRecord): void {
  const { to, step, why, bars, atMs } = record;
  forgetReady(dataDirectory);
  changeState(dataDirectory, (state) => {
    const others = state.barred.filter(({ version }) => version !== to);
    if (step === "done") return { putOff: null, barred: others };
    const reason = why ?? "not taken";
    if (!bars) return putOff(state, to, reason, atMs);
    const barred = [...others, { version: to, why: reason, atMs }].slice(-BARRED_MAX);
    return { putOff: null, barred };
  });
}

/** Returns the change that puts a version off, so that the next check finds the version again. */
export function putOff(
  { putOff: before }: UpdateState,
  version: string,
  why: string,
  atMs: number,
): Pick<UpdateState, "putOff"> {
  // `sinceMs` stays when another version is put off, because an operator is needed when the kiosk
  // installs no version for a long time.
  return { putOff: { version, why, sinceMs: before?.sinceMs ?? atMs, lastMs: atMs } };
}

const readySchema = z.object({ format: z.literal(1), version: z.string(), atMs: z.number() });

/** Names a complete version for the launcher to install; the file is on disk when this returns. */
export function writeReady(dataDirectory: string, version: string, atMs: number): void {
  writeJson(readyFileOf(dataDirectory), { format: 1, version, atMs });
}

/** Returns the version that is ready to be installed; undefined: there is none. */
export function readReady(dataDirectory: string) {
  return readJsonIfWhole(readyFileOf(dataDirectory), readySchema);
}

export function forgetReady(dataDirectory: string): void {
  removeNow(readyFileOf(dataDirectory));
}

const holdSchema = z.object({
  who: z.string(),
  sinceMs: z.number(),
  /** When the hold ends, in milliseconds since 1970; null: when an operator ends it. */
  untilMs: z.number().nullable(),
});
export type Hold = z.infer<typeof holdSchema>;

/** Returns the hold of updates; undefined: no hold was set, or the time of the hold is over. */
export function readHold(dataDirectory: string, nowMs: number): Hold | undefined {
  const hold = readJsonIfWhole(holdIn(dataDirectory), holdSchema);
  return hold && (hold.untilMs === null || hold.untilMs > nowMs) ? hold : undefined;
}

export function writeHold(dataDirectory: string, hold: Hold): void {
  writeJson(holdIn(dataDirectory), hold);
}

export function endHold(dataDirectory: string): void {
  removeNow(holdIn(dataDirectory));
}

/** Returns the id of an installation; the first call makes the id, which never changes. */
export function installationId(dataDirectory: string): string {
  const known = readJsonIfWhole(idIn(dataDirectory), z.object({ id: z.uuid() }));
  const id = known?.id ?? randomUUID();
  if (!known) writeJson(idIn(dataDirectory), { id });
  return id;
}

/** By how many minutes at most the daily check differs from UPDATE_TIME. */
const SPREAD_MINUTES = 30;
const DAY_MINUTES = 24 * 60;

/**
 * Returns the daily time of the check for an update as hh:mm: up to half an hour before or after
 * `updateTime`, and always the same for one kiosk, so that the kiosks of a fleet do not all ask the
 * server at once (docs/updates.md 4.4).
 */
export function checkTime(updateTime: string, installation: string): string {
  const [hours = 0, minutes = 0] = updateTime.split(":").map(Number);
  const hash = createHash("sha256").update(`${installation}\nspread`).digest().readUInt32BE(0);
  const spread = (hash % (2 * SPREAD_MINUTES + 1)) - SPREAD_MINUTES;
  const at = (hours * 60 + minutes + spread + DAY_MINUTES) % DAY_MINUTES;
  return [Math.floor(at / 60), at % 60].map((part) => String(part).padStart(2, "0")).join(":");
}

/** How often in ms a check for an update finds out whether another process wants its lock. */
const WANTED_EVERY_MS = 500;
/** The longest wait in ms for the update lock; a check that has the lock gives it up sooner. */
const GIVEN_WITHIN_MS = 5_000;
const TRY_EVERY_MS = 50;
/** The longest wait in ms for the lock "wanted", which a check takes only for moments. */
const CONTENTION_MS = 500;

/** Takes the lock for checking and installing; undefined: another process has the lock. */
export function tryUpdateLock(dataDirectory: string): ExclusiveLock | undefined {
  return takeExclusiveLock(join(openRunDirectory(dataDirectory), "update.lock"), 0);
}

/**
 * Takes the update lock. A check for an update can last hours on a slow line, so a running check
 * gives up the lock, and the next check continues its downloads. Returns undefined if the lock
 * stayed taken, because a version is being installed.
 */
export async function takeUpdateLock(dataDirectory: string, clock: Clock) {
  const free = tryUpdateLock(dataDirectory);
  if (free) return free;
  const wanted = takeExclusiveLock(wantedIn(dataDirectory), CONTENTION_MS);
  if (!wanted) return undefined;
  const lock = () => tryUpdateLock(dataDirectory);
  const given = poll(clock, "update lock", TRY_EVERY_MS, GIVEN_WITHIN_MS, lock);
  return await given.finally(() => wanted.release());
}

/** Returns the lock file by which a process shows that it waits; its end frees the lock. */
const wantedIn = (dataDirectory: string): string =>
  join(openRunDirectory(dataDirectory), "update-wanted.lock");

/** Returns a signal that aborts when another process wants the update lock, until `over` aborts. */
export function whenWanted(dataDirectory: string, clock: Clock, over: AbortSignal): AbortSignal {
  const wanted = new AbortController();
  const watch = async (): Promise<void> => {
    while (!wanted.signal.aborted) {
      await sleep(clock, "update wanted", WANTED_EVERY_MS, over);
      const free = takeExclusiveLock(wantedIn(dataDirectory), 0);
      if (free) free.release();
      else wanted.abort();
    }
  };
  watch().catch(() => undefined); // `over` ends the pause with an error
  return wanted.signal;
}

/** The steps of a switch; each step is on disk before its work begins (docs/updates.md 4.2). */
const steps = [
  /** The new version is tested while the programs of the present version run. */
  "testing",
  /** The programs are stopped, and the databases are copied. */
  "stopping",
  /** The copies are complete; the files that name the version to run are being written. */
  "switching",
  /** The new programs run on probation and accept no payment. */
  "probation",
  /** The new version failed or was cut off too often; its programs are stopped. */
  "giving-up",
  /** The previous version is being named again; if needed, its databases are restored. */
  "going-back",
  /** The previous programs are being started, and can accept payments. */
  "restarting",
  /** The new version stays; the mark of its probation is being removed. */
  "staying",
  "done",
  "undone",
] as const;

/** The record of a switch. Its form never changes, because launchers of two versions read it. */
const recordSchema = z.object({
  format: z.literal(1),
  from: z.string(),
  to: z.string(),
  beganMs: z.number(),
  /** When the present step of the switch began. */
  atMs: z.number(),
  /** Whether the terminal was connected to tp-manager before the switch. */
  linkWasUp: z.boolean(),
  step: z.enum(steps),
  /** How often the probation was begun; after an interruption it is begun again. */
  probations: z.int(),
  /** Why the switch goes back or is refused, for people. */
  why: z.string().nullable(),
  /** Whether the version's programs failed, so that only an operator can install it again. */
  bars: z.boolean(),
  /** Whether the previous version gets its databases back too. */
  withStores: z.boolean(),
});
export type SwitchRecord = Readonly<z.infer<typeof recordSchema>>;

export const BY_OPERATOR = "an operator went back";

export function isOver({ step }: SwitchRecord): boolean {
  return step === "done" || step === "undone";
}

/** Writes the record of a switch on the disk. A switch that has ended becomes the last switch. */
export function writeSwitch(dataDirectory: string, record: SwitchRecord): void {
  const underWay = underWayFileOf(dataDirectory);
  writeJson(isOver(record) ? lastIn(dataDirectory) : underWay, record);
  if (isOver(record)) removeNow(underWay);
}

/** Returns the switch that is under way; undefined: there is none. Throws if it is damaged. */
export function readSwitch(dataDirectory: string): SwitchRecord | undefined {
  const file = underWayFileOf(dataDirectory);
  return existsSync(file) ? recordSchema.parse(JSON.parse(readFileSync(file, "utf8"))) : undefined;
}

/** Returns the last switch that has ended; undefined: there is none, or its record is damaged. */
export function readLastSwitch(dataDirectory: string): SwitchRecord | undefined {
  return readOr(undefined, () => readJsonIfWhole(lastIn(dataDirectory), recordSchema));
}

/**
 * Returns the newest version that an installation runs, has run, or bars. Neither expired metadata
 * nor a package leads to an older one. A version that was only put off does not count.
 */
export function newestTaken(dataDirectory: string, present: string): string {
  const last = readLastSwitch(dataDirectory);
  const ran = last === undefined ? [] : last.step === "done" ? [last.from, last.to] : [last.from];
  const barred = readState(dataDirectory).barred.map(({ version }) => version);
  const taken = [present, ...ran, ...barred];
  return taken.reduce((a, b) => (compareVersions(a, b) > 0 ? a : b));
}
