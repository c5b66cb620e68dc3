import { createHash, randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { openRunDirectory } from "../shared/ipc/run-directory.ts";
import { type ExclusiveLock, takeExclusiveLock } from "../shared/process/exclusive-lock.ts";
import { updateFolderOf } from "../shared/process/probation.ts";
import { readOr } from "../shared/read-or.ts";
import { readJsonIfWhole } from "../shared/store/store-file.ts";
import { type Clock, poll, sleep } from "../shared/time.ts";
import { readyFileOf, underWayFileOf } from "../shared/version-files.ts";
import { removeNow, writeJson } from "./durable-files.ts";

/*
 * The memory that an installation has of its updates (docs/updates.md 4.5). Only the holder of the
 * update lock writes the state. A hold and the installation's id are files of their own, because an
 * operator sets a hold while a check or a switch has the lock, and the id never changes.
 */

const orNull = <T extends z.ZodType>(schema: T) => schema.nullable().default(null);

const stateSchema = z.object({
  format: z.literal(1),
  /** Newer versions that were offered once: a share that is lowered does not take them back. */
  offered: z.array(z.string()).default([]),
  /** Versions whose programs failed here, or from which an operator went back. */
  barred: z.array(z.object({ version: z.string(), why: z.string(), atMs: z.number() })).default([]),
  /** The last check for an update; null: never. */
  checkedMs: orNull(z.number()),
  /** The last time at which metadata were verified as fresh; null: never. */
  freshMs: orNull(z.number()),
  /** The time at which the first of the metadata expires. */
  expiresMs: orNull(z.number()),
  /** The last check failed, and every check since `sinceMs`. */
  fault: orNull(z.object({ code: z.string(), message: z.string(), sinceMs: z.number() })),
  /** A version was ready and was not taken, each time since `sinceMs`: no fault of its own. */
  putOff: orNull(
    z.object({ version: z.string(), why: z.string(), sinceMs: z.number(), lastMs: z.number() }),
  ),
  /** The signed version that was unpacked last, with its target's hashes; null: none yet. */
  laid: orNull(z.object({ version: z.string(), hashes: z.string() })),
});
export type UpdateState = z.infer<typeof stateSchema>;

const stateIn = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "state.json");

/** Reads the state of updates; a damaged one counts as none, and the next write replaces it. */
export function readState(dataDirectory: string): UpdateState {
  return readJsonIfWhole(stateIn(dataDirectory), stateSchema) ?? stateSchema.parse({ format: 1 });
}

/** Changes the state of updates, on disk when it returns. The caller holds the update lock. */
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
 * Remembers the end of a switch: a failure of the programs bars the version, any other reason puts
 * it off. The caller holds the update lock; may be repeated.
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

/** Puts a version off: the next check can find it again. */
export function putOff(
  { putOff: before }: UpdateState,
  version: string,
  why: string,
  atMs: number,
): Pick<UpdateState, "putOff"> {
  // `sinceMs` is that of the first version that was put off: a kiosk that takes none for long needs
  // an operator.
  return { putOff: { version, why, sinceMs: before?.sinceMs ?? atMs, lastMs: atMs } };
}

const readySchema = z.object({ format: z.literal(1), version: z.string(), atMs: z.number() });

/** Names a version that is whole, for the launcher to take. On disk when it returns. */
export function writeReady(dataDirectory: string, version: string, atMs: number): void {
  writeJson(readyFileOf(dataDirectory), { format: 1, version, atMs });
}

/** Returns the version that waits for the launcher; undefined: none does. */
export function readReady(dataDirectory: string) {
  return readJsonIfWhole(readyFileOf(dataDirectory), readySchema);
}

export function forgetReady(dataDirectory: string): void {
  removeNow(readyFileOf(dataDirectory));
}

const holdSchema = z.object({
  who: z.string(),
  sinceMs: z.number(),
  /** null: until an operator ends it. */
  untilMs: z.number().nullable(),
});
export type Hold = z.infer<typeof holdSchema>;

const holdIn = (dataDirectory: string): string => join(updateFolderOf(dataDirectory), "hold.json");

/** Returns the hold of updates; undefined: there is none, or its time is over. */
export function readHold(dataDirectory: string, nowMs: number): Hold | undefined {
  const hold = readJsonIfWhole(holdIn(dataDirectory), holdSchema);
  return hold && (hold.untilMs === null || hold.untilMs > nowMs) ? hold : undefined;
}

/** Writes a hold, on disk when it returns. */
export function writeHold(dataDirectory: string, hold: Hold): void {
  writeJson(holdIn(dataDirectory), hold);
}

export function endHold(dataDirectory: string): void {
  removeNow(holdIn(dataDirectory));
}

/** Returns the id of a data folder, which is made at the first call and never changes. */
export function installationId(dataDirectory: string): string {
  const file = join(updateFolderOf(dataDirectory), "installation.json");
  const known = readJsonIfWhole(file, z.object({ id: z.uuid() }));
  if (known) return known.id;
  const id = randomUUID();
  writeJson(file, { id });
  return id;
}

const SPREAD_MINUTES = 30;
const DAY_MINUTES = 24 * 60;

/**
 * Returns the daily time of the check for an update, as hh:mm: up to half an hour before or after
 * `updateTime`, and the same each day, so that the kiosks of a fleet do not all ask at the same
 * moment (docs/updates.md 4.4).
 */
export function checkTime(updateTime: string, installation: string): string {
  const [hours = 0, minutes = 0] = updateTime.split(":").map(Number);
  const hash = createHash("sha256").update(`${installation}\nspread`).digest().readUInt32BE(0);
  const spread = (hash % (2 * SPREAD_MINUTES + 1)) - SPREAD_MINUTES;
  const at = (hours * 60 + minutes + spread + DAY_MINUTES) % DAY_MINUTES;
  return [Math.floor(at / 60), at % 60].map((part) => String(part).padStart(2, "0")).join(":");
}

/** How often a check for an update asks whether another process wants its lock. */
const WANTED_EVERY_MS = 500;
/** The time for which a process waits for the update lock: a check for an update ends sooner. */
const GIVEN_WITHIN_MS = 5_000;
const TRY_EVERY_MS = 50;
/** How long a process tries to become the one that waits; a check takes that lock for moments. */
const CONTENTION_MS = 500;

/** Takes the lock of a process that checks for a version or takes one; undefined: it is taken. */
export function tryUpdateLock(dataDirectory: string): ExclusiveLock | undefined {
  return takeExclusiveLock(join(openRunDirectory(dataDirectory), "update.lock"), 0);
}

/**
 * Takes the update lock, also from a check for an update: that may last hours on a slow line, so it
 * gives way, and the next check continues its downloads. undefined: a version is being taken.
 */
export async function takeUpdateLock(
  dataDirectory: string,
  clock: Clock,
): Promise<ExclusiveLock | undefined> {
  const free = tryUpdateLock(dataDirectory);
  if (free) return free;
  const wanted = takeExclusiveLock(wantedIn(dataDirectory), CONTENTION_MS);
  if (!wanted) return undefined;
  const lock = (): ExclusiveLock | undefined => tryUpdateLock(dataDirectory);
  return await poll(clock, "update lock", TRY_EVERY_MS, GIVEN_WITHIN_MS, lock).finally(() =>
    wanted.release(),
  );
}

/** Returns the file of the lock that a waiting process holds; its end frees the lock. */
const wantedIn = (dataDirectory: string): string =>
  join(openRunDirectory(dataDirectory), "update-wanted.lock");

/** Aborts when another process waits for the update lock, which the caller holds until `over`. */
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
  watch().catch(() => undefined); // `over` has ended the pause
  return wanted.signal;
}

/** The steps of an update; each is on disk before its work begins (docs/updates.md 4.2). */
const steps = [
  /** The new version is whole and is tested, while the programs of the present one run on. */
  "testing",
  /** The programs are stopped and the stores copied. */
  "stopping",
  /** The copies are whole; the files that name the version are being written. */
  "switching",
  /** The new programs are started and accept no payment. */
  "probation",
  /** The new version has failed, or was cut off too often: its programs are stopped. */
  "giving-up",
  /** The file that names the version is put back, and the stores where that is needed. */
  "going-back",
  /** The previous programs are started; from here on they may take payments. */
  "restarting",
  /** The new version stays; the mark of the probation goes. */
  "staying",
  "done",
  "undone",
] as const;

/** Read by the launchers of both versions, so its form does not change (docs/updates.md 4.2). */
const recordSchema = z.object({
  format: z.literal(1),
  from: z.string(),
  to: z.string(),
  beganMs: z.number(),
  /** When the present step began. */
  atMs: z.number(),
  /** Whether the terminal was connected before. */
  linkWasUp: z.boolean(),
  step: z.enum(steps),
  /** How often the probation was begun. */
  probations: z.int(),
  /** Why the update goes back, or is refused; for people. */
  why: z.string().nullable(),
  /** Whether the version itself failed here, so that only an operator takes it again. */
  bars: z.boolean(),
  /** Whether going back puts the stores back too. */
  withStores: z.boolean(),
});
export type SwitchRecord = Readonly<z.infer<typeof recordSchema>>;

/** The reason of a switch back that an operator asked for, which is no failure. */
export const BY_OPERATOR = "an operator went back";

const lastIn = (dataDirectory: string): string => join(updateFolderOf(dataDirectory), "last.json");

export function isOver({ step }: SwitchRecord): boolean {
  return step === "done" || step === "undone";
}

/** Writes the record of an update, on disk when it returns. An ended one is kept as the last. */
export function writeSwitch(dataDirectory: string, record: SwitchRecord): void {
  const underWay = underWayFileOf(dataDirectory);
  writeJson(isOver(record) ? lastIn(dataDirectory) : underWay, record);
  if (isOver(record)) removeNow(underWay);
}

/** Returns the update that is under way; undefined: none. Throws for a damaged record. */
export function readSwitch(dataDirectory: string): SwitchRecord | undefined {
  const file = underWayFileOf(dataDirectory);
  return existsSync(file) ? recordSchema.parse(JSON.parse(readFileSync(file, "utf8"))) : undefined;
}

/** Returns the last update that has ended; undefined: none, or its record is damaged. */
export function readLastSwitch(dataDirectory: string): SwitchRecord | undefined {
  return readOr(undefined, () => readJsonIfWhole(lastIn(dataDirectory), recordSchema));
}
