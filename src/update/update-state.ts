import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { updateFolderOf } from "../shared/process/probation.ts";
import { readyFileOf } from "../shared/version-files.ts";
import { readJsonIfWhole, removeNow, writeJson } from "./durable-files.ts";
import type { SwitchRecord } from "./switch-record.ts";

/*
 * The memory that an installation has of its updates (docs/updates.md 4.5). The state is written by
 * who holds the update lock; a hold and the installation's own id are files of their own, because
 * an operator sets the first one while somebody else is at work, and the second one never changes.
 */

const faultSchema = z.object({ code: z.string(), message: z.string(), sinceMs: z.number() });

const stateSchema = z.object({
  format: z.literal(1),
  /** Newer versions that were offered once: a share that is lowered does not take them back. */
  offered: z.array(z.string()),
  /** Versions whose programs failed here, or from which an operator went back. */
  barred: z.array(z.object({ version: z.string(), why: z.string(), atMs: z.number() })),
  /** The last check for an update; null: never. */
  checkedMs: z.number().nullable(),
  /** Metadata were verified as fresh for the last time; null: never. */
  freshMs: z.number().nullable(),
  /** The first of them to expire. */
  expiresMs: z.number().nullable(),
  /** The last check failed, and all since `sinceMs`. */
  fault: faultSchema.nullable(),
  /** A version was ready and not taken, each time since `sinceMs`: no fault of its own. */
  putOff: z
    .object({ version: z.string(), why: z.string(), sinceMs: z.number(), lastMs: z.number() })
    .nullable(),
  /** The signed version that was unpacked last, with its target's hashes; null: none yet. */
  laid: z.object({ version: z.string(), hashes: z.string() }).nullable().default(null),
});
export type UpdateState = z.infer<typeof stateSchema>;

const noState: UpdateState = {
  format: 1,
  offered: [],
  barred: [],
  checkedMs: null,
  freshMs: null,
  expiresMs: null,
  fault: null,
  putOff: null,
  laid: null,
};

const stateIn = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "state.json");

/** A damaged state counts as none; the next write replaces it. */
export function readState(dataDirectory: string): UpdateState {
  return readJsonIfWhole(stateIn(dataDirectory), stateSchema) ?? noState;
}

/** The caller holds the update lock. On disk when it returns. */
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
 * The end of a switch is remembered: only a failure of the programs bars a version, anything else
 * puts it off. The caller holds the update lock; may be repeated.
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

/** The version can be found again by the next check. */
export function putOff(
  { putOff: before }: UpdateState,
  version: string,
  why: string,
  atMs: number,
): Pick<UpdateState, "putOff"> {
  // Of whichever version: a kiosk that takes none of them wants somebody.
  return { putOff: { version, why, sinceMs: before?.sinceMs ?? atMs, lastMs: atMs } };
}

const readySchema = z.object({ format: z.literal(1), version: z.string(), atMs: z.number() });
type Ready = z.infer<typeof readySchema>;

/** A version is whole beside the present one: the launcher takes it. On disk when it returns. */
export function handOver(dataDirectory: string, version: string, atMs: number): void {
  const ready: Ready = { format: 1, version, atMs };
  writeJson(readyFileOf(dataDirectory), ready);
}

/** undefined: no version waits for the launcher. */
export function readReady(dataDirectory: string): Ready | undefined {
  return readJsonIfWhole(readyFileOf(dataDirectory), readySchema);
}

export function forgetReady(dataDirectory: string): void {
  removeNow(readyFileOf(dataDirectory));
}

const holdSchema = z.object({
  who: z.string(),
  sinceMs: z.number(),
  /** null: until somebody ends it. */
  untilMs: z.number().nullable(),
});
export type Hold = z.infer<typeof holdSchema>;

const holdIn = (dataDirectory: string): string => join(updateFolderOf(dataDirectory), "hold.json");

/** undefined: versions are taken; a hold whose time has come is over. */
export function readHold(dataDirectory: string, nowMs: number): Hold | undefined {
  const hold = readJsonIfWhole(holdIn(dataDirectory), holdSchema);
  return hold && (hold.untilMs === null || hold.untilMs > nowMs) ? hold : undefined;
}

/** On disk when it returns. */
export function writeHold(dataDirectory: string, hold: Hold): void {
  writeJson(holdIn(dataDirectory), hold);
}

export function endHold(dataDirectory: string): void {
  removeNow(holdIn(dataDirectory));
}

/** Stays the same for the life of the data folder; made when it is asked for first. */
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
 * The daily time of the check for an update, as hh:mm: up to half an hour before or after
 * `updateTime`, always the same, so that a fleet does not ask all at once (docs/updates.md 4.4).
 */
export function lookTime(updateTime: string, installation: string): string {
  const [hours = 0, minutes = 0] = updateTime.split(":").map(Number);
  const hash = createHash("sha256").update(`${installation}\nspread`).digest().readUInt32BE(0);
  const spread = (hash % (2 * SPREAD_MINUTES + 1)) - SPREAD_MINUTES;
  const at = (hours * 60 + minutes + spread + DAY_MINUTES) % DAY_MINUTES;
  return [Math.floor(at / 60), at % 60].map((part) => String(part).padStart(2, "0")).join(":");
}
