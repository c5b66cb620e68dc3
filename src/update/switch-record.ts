import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { updateFolderOf } from "../shared/process/probation.ts";
import { syncFolder } from "../shared/store/store-file.ts";
import { underWayFileOf } from "../shared/version-files.ts";
import { removeHeld, replaceHeld } from "./durable-files.ts";
import type { SwitchState } from "./switch-machine.ts";

const steps = [
  "testing",
  "stopping",
  "switching",
  "probation",
  "giving-up",
  "going-back",
  "restarting",
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
  probations: z.int(),
  why: z.string().nullable(),
  bars: z.boolean(),
  withStores: z.boolean(),
});
export type SwitchRecord = z.infer<typeof recordSchema> & SwitchState;

/** The reason of a switch back that somebody asked for; no failure. */
export const BY_OPERATOR = "an operator went back";

const lastIn = (dataDirectory: string): string => join(updateFolderOf(dataDirectory), "last.json");

/** On disk when it returns. An update that has ended is kept as the last one. */
export function writeSwitch(dataDirectory: string, record: SwitchRecord): void {
  mkdirSync(updateFolderOf(dataDirectory), { recursive: true, mode: 0o700 });
  const text = `${JSON.stringify(record)}\n`;
  if (record.step !== "done" && record.step !== "undone") {
    replaceHeld(underWayFileOf(dataDirectory), text);
    return;
  }
  replaceHeld(lastIn(dataDirectory), text);
  removeHeld(underWayFileOf(dataDirectory));
  syncFolder(updateFolderOf(dataDirectory));
}

/** The update that is under way; undefined: none. Throws when the record is damaged. */
export function readSwitch(dataDirectory: string): SwitchRecord | undefined {
  const file = underWayFileOf(dataDirectory);
  return existsSync(file) ? recordSchema.parse(JSON.parse(readFileSync(file, "utf8"))) : undefined;
}

/** The last update that has ended; undefined: none, or its record is damaged. */
export function readLastSwitch(dataDirectory: string): SwitchRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(readFileSync(lastIn(dataDirectory), "utf8"))).data;
  } catch {
    return undefined;
  }
}
