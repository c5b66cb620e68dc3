import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { updateFolderOf } from "../shared/process/probation.ts";

const roles = ["root", "targets", "snapshot", "timestamp"] as const;
const metadataSchema = z.object({ signed: z.object({ expires: z.iso.datetime() }) });

/** Where an installation keeps the metadata that it has verified (docs/updates.md 2.1). */
export function metadataFolderOf(dataDirectory: string): string {
  return join(updateFolderOf(dataDirectory), "metadata");
}

/** When the first of the kept metadata expires; null: they are not all there. */
export function nextExpiryMs(dataDirectory: string): number | null {
  try {
    const times = roles.map((role) => {
      const text = readFileSync(join(metadataFolderOf(dataDirectory), `${role}.json`), "utf8");
      return Date.parse(metadataSchema.parse(JSON.parse(text)).signed.expires);
    });
    return Math.min(...times);
  } catch {
    return null;
  }
}
