import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { updateFolderOf } from "../shared/process/probation.ts";
import { underWayFileOf } from "../shared/version-files.ts";
import { readJsonIfWhole, removeNow, writeJson } from "./durable-files.ts";

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
  /** The present step began. */
  atMs: z.number(),
  /** The terminal was connected before. */
  linkWasUp: z.boolean(),
  step: z.enum(steps),
  /** How often the probation was begun. */
  probations: z.int(),
  /** Why the update goes back, or is refused; for people. */
  why: z.string().nullable(),
  /** The version itself failed here, so it is not taken again without an operator. */
  bars: z.boolean(),
  /** Going back puts the stores back too. */
  withStores: z.boolean(),
});
export type SwitchRecord = Readonly<z.infer<typeof recordSchema>>;

/** The reason of a switch back that an operator asked for; no failure. */
export const BY_OPERATOR = "an operator went back";

const lastIn = (dataDirectory: string): string => join(updateFolderOf(dataDirectory), "last.json");

export function isOver({ step }: SwitchRecord): boolean {
  return step === "done" || step === "undone";
}

/** On disk when it returns. An update that has ended is kept as the last one. */
export function writeSwitch(dataDirectory: string, record: SwitchRecord): void {
  const underWay = underWayFileOf(dataDirectory);
  writeJson(isOver(record) ? lastIn(dataDirectory) : underWay, record);
  if (isOver(record)) removeNow(underWay);
}

/** The update that is under way; undefined: none. Throws when the record is damaged. */
export function readSwitch(dataDirectory: string): SwitchRecord | undefined {
  const file = underWayFileOf(dataDirectory);
  return existsSync(file) ? recordSchema.parse(JSON.parse(readFileSync(file, "utf8"))) : undefined;
}

/** The last update that has ended; undefined: none, or its record is damaged. */
export function readLastSwitch(dataDirectory: string): SwitchRecord | undefined {
  try {
    return readJsonIfWhole(lastIn(dataDirectory), recordSchema);
  } catch {
    return undefined;
  }
}
