import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { writeSynced } from "../shared/store/store-file.ts";
import type { Clock } from "../shared/time.ts";
import { makeFolder, removeWhole, renameSynced, syncFlatFolder } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";

/** Beside the metadata; not named `.json`, so that no role can have this name. */
const SEAL = "seal";

const sealSchema = z.object({
  /** Every file of the folder with its SHA-256. */
  files: z.record(z.string(), z.string()),
  /** The newest time at which metadata were fresh, or 0 (docs/updates.md 2.2). */
  newestMs: z.number(),
});
type Seal = z.infer<typeof sealSchema>;

export interface MetadataStoreSettings {
  readonly folder: string;
  /** The root that a delivery ships: what to begin with when nothing else is left. */
  readonly trustedRoot?: Buffer | undefined;
  readonly clock: Clock;
  /** Damage that was mended, for the log and the alarm. */
  readonly alarm: (message: string) => void;
}

/**
 * Trusted metadata in a folder that changes as a whole (docs/updates.md 2.1): the work is done in a
 * copy, the copy is sealed with the hash of every file, synced and renamed into place, and the
 * folder before it is kept. So a power cut leaves the old folder or the new one, and damage is seen
 * before anything is believed; an empty file would forget which versions were seen.
 */
export class MetadataStore {
  readonly #folder: string;
  readonly #previous: string;
  readonly #work: string;
  readonly #settings: MetadataStoreSettings;

  constructor(settings: MetadataStoreSettings) {
    this.#folder = settings.folder;
    this.#previous = `${settings.folder}.previous`;
    this.#work = `${settings.folder}.work`;
    this.#settings = settings;
  }

  /** A copy to work in; what an earlier work has left is gone. */
  async beginWork(): Promise<string> {
    await this.#makeWhole();
    this.#copyToWork(this.#folder);
    return this.#work;
  }

  /** A folder of metadata that begins with this root; other metadata that are there stay. */
  async begin(root: Buffer): Promise<void> {
    await this.#finishRename();
    if (existsSync(this.#folder)) this.#copyToWork(this.#folder);
    else this.#emptyWork();
    writeSynced(join(this.#work, "root.json"), root);
    await this.commit();
  }

  /** The newest time at which metadata were found fresh; 0: never, or not remembered. */
  newestMs(): number {
    return sealOf(this.#folder)?.newestMs ?? 0;
  }

  /** The work becomes the store. Nothing is written when nothing has changed. */
  async commit(newestMs = this.newestMs()): Promise<void> {
    const seal: Seal = { files: hashesOf(this.#work), newestMs };
    for (const name of Object.keys(seal.files)) JSON.parse(textOf(join(this.#work, name)));
    const before = sealOf(this.#folder);
    if (before && isWhole(this.#folder) && JSON.stringify(before) === JSON.stringify(seal)) {
      return this.abandon();
    }
    writeSynced(join(this.#work, SEAL), `${JSON.stringify(seal)}\n`);
    syncFlatFolder(this.#work);
    if (existsSync(this.#folder)) {
      removeWhole(this.#previous);
      await renameSynced(this.#folder, this.#previous, this.#settings.clock);
    }
    await renameSynced(this.#work, this.#folder, this.#settings.clock);
  }

  abandon(): void {
    removeWhole(this.#work);
  }

  /** Damaged metadata give way to the copy before them, and that to the shipped root. */
  async #makeWhole(): Promise<void> {
    await this.#finishRename();
    if (isWhole(this.#folder)) return;
    const { alarm, trustedRoot } = this.#settings;
    const isFirst = !existsSync(this.#folder) && !existsSync(this.#previous);
    if (isWhole(this.#previous)) {
      alarm("the metadata of updates are damaged: the copy before them is used");
      this.#copyToWork(this.#previous);
    } else {
      if (!trustedRoot) throw new UpdateError("no-root", "no trusted root of updates is there");
      if (!isFirst) {
        alarm("the metadata of updates and their copy are damaged: begun again with our root");
      }
      this.#emptyWork();
      writeSynced(join(this.#work, "root.json"), trustedRoot);
    }
    removeWhole(this.#folder);
    await this.commit(isFirst ? 0 : (sealOf(this.#previous)?.newestMs ?? 0));
  }

  /** A power cut between the two renames of a commit left no folder, but both others. */
  async #finishRename(): Promise<void> {
    if (existsSync(this.#folder)) return;
    const { clock } = this.#settings;
    if (isWhole(this.#work)) await renameSynced(this.#work, this.#folder, clock);
  }

  #copyToWork(from: string): void {
    this.#emptyWork();
    for (const name of readdirSync(from)) {
      if (name !== SEAL) writeFileSync(join(this.#work, name), readFileSync(join(from, name)));
    }
  }

  #emptyWork(): void {
    removeWhole(this.#work);
    makeFolder(dirname(this.#work));
    makeFolder(this.#work);
  }
}

function isWhole(folder: string): boolean {
  const seal = sealOf(folder);
  if (!seal) return false;
  const there = hashesOf(folder);
  return "root.json" in there && JSON.stringify(there) === JSON.stringify(seal.files);
}

function sealOf(folder: string): Seal | undefined {
  try {
    return sealSchema.safeParse(JSON.parse(textOf(join(folder, SEAL)))).data;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof SyntaxError || code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

/** A folder among the files has no hash that a seal could have. */
function hashesOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== SEAL);
  return Object.fromEntries(
    entries
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((entry) => [entry.name, entry.isFile() ? hashOf(join(folder, entry.name)) : "no file"]),
  );
}

function hashOf(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function textOf(path: string): string {
  return readFileSync(path, "utf8");
}
