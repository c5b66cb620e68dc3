import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { syncFolder } from "../shared/store/store-file.ts";
import { UpdateError } from "./errors.ts";
import { isVersion } from "./offer-policy.ts";

/** The form of a name that is used in the names of folders and targets. */
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/);
const version = z.string().refine(isVersion, "is no version X.Y.Z");

/** The most characters of the notes of a release. */
export const NOTES_CHARACTERS_MAX = 2000;

/** The custom metadata of a TUF target that contains programs (docs/updates.md 3.1). */
export const releaseSchema = z.object({
  kind: z.literal("programs"),
  version,
  platform: name,
  /** Rollout shares are whole numbers, because canonical JSON, which is signed, has no others. */
  channels: z.record(name, z.int().min(0).max(100)),
  follows: version,
  notBefore: z.iso.datetime(),
  withdrawn: z.boolean(),
  replaces: z.array(version),
  notes: z.string().max(NOTES_CHARACTERS_MAX),
  /** The last day on which the publisher supports the version; older releases name none. */
  supportedUntil: z.iso.date().optional(),
  /** The name of the target with the runtime (Node.js) that these programs need. */
  runtime: z.string(),
});
export type ReleaseNote = z.infer<typeof releaseSchema>;

/** The custom metadata of a target with a runtime; `name` is also the name of its folder. */
export const runtimeSchema = z.object({
  kind: z.literal("runtime"),
  platform: name,
  name: z.string().regex(/^[0-9a-f]{8,64}$/),
});

const deliverySchema = z
  .object({
    version: z.string(),
    platform: z.string(),
    builtAt: z.iso.datetime().default("1970-01-01T00:00:00Z"),
    /** For each database, the newest schema version that the programs know. */
    schemas: z.record(z.string(), z.int()).optional(),
  })
  .transform(({ builtAt, ...rest }) => ({ ...rest, builtMs: Date.parse(builtAt) }));
export type Delivery = z.infer<typeof deliverySchema>;

/** Returns what a version's file delivery.json says. Throws when the file is damaged. */
export function deliveryIn(folder: string): Delivery {
  return deliverySchema.parse(JSON.parse(readFileSync(join(folder, "delivery.json"), "utf8")));
}

/** The file that marks a version as complete; it is written after all other files are on disk. */
export const MARK = "complete";

export function isComplete(folder: string): boolean {
  return existsSync(join(folder, MARK));
}

/** Removes the mark of a version whose files are removed next; that is on disk when it returns. */
export function unmark(folder: string): void {
  rmSync(join(folder, MARK), { force: true });
  syncFolder(folder);
}

interface Target {
  readonly path: string;
  readonly custom: unknown;
}

/** A release with the names of the targets that contain it. */
export type OfferedRelease = ReturnType<typeof releasesIn>[number];

/**
 * Returns the releases among the targets. A target of an unknown kind is left out, because a later
 * publisher may have more kinds. A release with wrong metadata is left out, and `wrong` is called.
 */
export function releasesIn(targets: readonly Target[], wrong: (message: string) => void) {
  return targets.flatMap(({ path, custom }) => {
    if ((custom as { kind?: unknown } | undefined)?.kind !== "programs") return [];
    const read = releaseSchema.safeParse(custom);
    if (!read.success) {
      wrong(`${path} is left out: ${z.prettifyError(read.error)}`);
      return [];
    }
    const { notBefore, ...note } = read.data;
    return [{ ...note, target: path, notBeforeMs: Date.parse(notBefore) }];
  });
}

/** Returns the name of a runtime's folder. Throws for a target of another kind or platform. */
export function runtimeNameOf({ path, custom }: Target, platform: string): string {
  const read = runtimeSchema.safeParse(custom);
  if (read.success && read.data.platform === platform) return read.data.name;
  throw new UpdateError("no-target", `${path} is no runtime for ${platform}`);
}
