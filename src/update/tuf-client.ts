import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Metadata, MetadataKind, type TargetFile } from "@tufjs/models";
import { Updater } from "tuf-js";
import { DownloadHTTPError, ExpiredMetadataError, PersistError } from "tuf-js/dist/error.js";
import { z } from "zod";
import { readJsonIfWhole, writeSynced } from "../shared/store/store-file.ts";
import { type Clock, isoTime } from "../shared/time.ts";
import { makeFolder, removeWhole, renameSynced, syncFlatFolder } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";
import { allowedAddress, downloadTarget, type WebSource } from "./web-source.ts";

/** The time limit for one file of metadata, which are small. */
const METADATA_DEADLINE_MS = 5 * 60_000;

export interface TufClientSettings extends MetadataStoreSettings {
  readonly clock: Clock;
  readonly metadataUrl: string;
  readonly source: WebSource;
  /** Metadata cannot be younger than the program that reads them: its build date, or 0. */
  readonly builtMs: number;
  /** Whether the newest time of fresh metadata counts for later checks (docs/updates.md 2.2). */
  readonly remembersTime: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Plain TUF (theupdateframework.io): verification is tuf-js's, storage, network and the time that
 * counts are ours. Channel, platform and share lie above it (`offer-policy.ts`).
 */
export class TufClient {
  readonly #settings: TufClientSettings;
  readonly #store: MetadataStore;

  constructor(settings: TufClientSettings) {
    this.#settings = settings;
    this.#store = new MetadataStore(settings);
  }

  /**
   * Brings the metadata up to date and lets `use` work with them. Files that were verified before
   * a failure are kept, as TUF demands: a new root counts although a later file is refused.
   */
  async withTargets<T>(use: (targets: TrustedTargets) => Promise<T>): Promise<T> {
    const work = this.#store.beginWork();
    const nowMs = this.#nowMs();
    let freshMs: number | undefined;
    try {
      const updater = this.#updaterFor(work, nowMs);
      await updater.refresh();
      freshMs = this.#settings.remembersTime ? nowMs : undefined;
      const result = await use(trustedTargets(this.#settings, updater, work));
      this.#store.commit(freshMs);
      return result;
    } catch (error) {
      this.#keepVerified(error, freshMs);
      throw readable(error, nowMs);
    }
  }

  /**
   * A clock that was set back must not make old metadata fresh. A clock that ran ahead cannot do
   * lasting harm: its time is remembered only when metadata were fresh at it, and later metadata of
   * the publisher live longer than these.
   */
  #nowMs(): number {
    const { clock, builtMs, remembersTime } = this.#settings;
    return Math.max(clock.now(), builtMs, remembersTime ? this.#store.newestMs() : 0);
  }

  #updaterFor(work: string, nowMs: number): Updater {
    const { metadataUrl, source, signal } = this.#settings;
    allowedAddress(metadataUrl);
    const updater = new Updater({
      metadataDir: work,
      metadataBaseUrl: metadataUrl,
      fetcher: {
        downloadBytes: (url, lengthMax) =>
          source
            .read(url, { lengthMax, deadlineMs: METADATA_DEADLINE_MS, signal })
            .catch((error: unknown) => {
              const status = error instanceof UpdateError ? error.status : undefined;
              if (status === undefined) throw error;
              throw new DownloadHTTPError((error as UpdateError).message, status);
            }),
        downloadFile: () => Promise.reject(new Error("targets are not downloaded by tuf-js")),
      },
    });
    setReferenceTime(updater, new Date(nowMs));
    return updater;
  }

  #keepVerified(error: unknown, freshMs: number | undefined): void {
    try {
      if (error instanceof PersistError) this.#store.abandon();
      else this.#store.commit(freshMs);
    } catch (cause) {
      // The first error says more; the store is as it was.
      this.#settings.alarm(`the metadata of updates were not stored: ${(cause as Error).message}`);
    }
  }
}

/** The targets of verified metadata, as long as the work with them lasts. */
export type TrustedTargets = Readonly<ReturnType<typeof trustedTargets>>;

function trustedTargets({ source, signal }: TufClientSettings, updater: Updater, work: string) {
  const targets = Metadata.fromJSON(MetadataKind.Targets, jsonOf(work, "targets"));
  const root = Metadata.fromJSON(MetadataKind.Root, jsonOf(work, "root"));
  return {
    /** Every target of the top-level role. */
    all: Object.values(targets.signed.targets),
    /** Answers a target of a delegated role too; may read metadata from the server. */
    async find(name: string): Promise<TargetFile> {
      const target = await updater.getTargetInfo(name);
      if (target) return target;
      throw new UpdateError("no-target", `the signed metadata name no target ${name}`);
    },
    /** Downloads a target into `file`, whole and verified, or not at all. */
    download(target: TargetFile, baseUrl: string, file: string): Promise<void> {
      const url = targetUrl(baseUrl, target, root.signed.consistentSnapshot);
      return downloadTarget({ source, url, file, target, signal });
    },
  };
}

/** tuf-js takes the system's time; there is no other way to give it ours. */
function setReferenceTime(updater: Updater, time: Date): void {
  const { trustedSet } = updater as unknown as { trustedSet?: { referenceTime?: unknown } };
  if (!(trustedSet?.referenceTime instanceof Date)) throw new Error("tuf-js keeps time elsewhere");
  trustedSet.referenceTime = time;
}

/** Consistent snapshots name a target by one of its hashes (TUF 1.0, 6.2). */
function targetUrl(baseUrl: string, target: TargetFile, isConsistent: boolean): string {
  const parts = target.path.split("/");
  const name = parts.pop() ?? "";
  const [hash] = Object.values(target.hashes);
  const path = [...parts, isConsistent ? `${hash}.${name}` : name];
  return `${baseUrl.replace(/\/+$/, "")}/${path.map(encodedPart).join("/")}`;
}

/** A part of a path; letters that it may hold as they are stay (RFC 3986, pchar). */
function encodedPart(part: string): string {
  return encodeURIComponent(part).replace(/%(24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
}

function jsonOf(folder: string, role: string) {
  return JSON.parse(readFileSync(join(folder, `${role}.json`), "utf8"));
}

/** tuf-js passes the reason of a refused snapshot or targets file on as text only. */
function readable(error: unknown, nowMs: number): unknown {
  if (error instanceof UpdateError || (error as Error).name === "AbortError") return error;
  const message = (error as Error).message.replace(/^Unable to load .*? error (\w+: )*/, "");
  const options = { cause: error };
  if (error instanceof ExpiredMetadataError || message.endsWith(" is expired")) {
    const text = `metadata have expired at ${isoTime(nowMs)}: ${message}`;
    return new UpdateError("metadata-expired", text, options);
  }
  return new UpdateError("metadata-refused", `metadata are refused: ${message}`, options);
}

/** The name of the seal among the metadata; without `.json`, so that no role can have it. */
const SEAL = "seal";

const sealSchema = z.object({
  /** Every file of the folder with its SHA-256. */
  files: z.record(z.string(), z.string()),
  /** The newest time at which metadata were fresh, or 0 (docs/updates.md 2.2). */
  newestMs: z.number(),
});
type Seal = z.infer<typeof sealSchema>;

interface MetadataStoreSettings {
  readonly folder: string;
  /** The root that a delivery ships: what to begin with when nothing else is left. */
  readonly trustedRoot?: Buffer | undefined;
  /** Damage that was mended, for the log and the alarm. */
  readonly alarm: (message: string) => void;
}

/**
 * Trusted metadata in a folder that changes as a whole (docs/updates.md 2.1). The work is done in a
 * copy; the copy is sealed with the hash of every file, synced and renamed into place, and the
 * previous folder is kept. So a power cut leaves the old folder or the new one, and damage is found
 * before anything is believed: with an empty file older metadata would be accepted again.
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
  beginWork(): string {
    this.#makeWhole();
    this.#copyToWork(this.#folder);
    return this.#work;
  }

  /** A folder of metadata that begins with this root; other metadata that are there stay. */
  begin(root: Buffer): void {
    this.#finishRename();
    if (existsSync(this.#folder)) this.#copyToWork(this.#folder);
    else this.#emptyWork();
    writeSynced(join(this.#work, "root.json"), root);
    this.commit();
  }

  /** The newest time at which metadata were found fresh; 0: never, or not remembered. */
  newestMs(): number {
    return sealOf(this.#folder)?.newestMs ?? 0;
  }

  /** Makes the work the store; writes nothing when nothing has changed. */
  commit(newestMs = this.newestMs()): void {
    const seal: Seal = { files: hashesOf(this.#work), newestMs };
    for (const name of Object.keys(seal.files))
      JSON.parse(readFileSync(join(this.#work, name), "utf8"));
    const before = sealOf(this.#folder);
    if (before && isWhole(this.#folder) && JSON.stringify(before) === JSON.stringify(seal)) {
      this.abandon();
      return;
    }
    writeSynced(join(this.#work, SEAL), `${JSON.stringify(seal)}\n`);
    syncFlatFolder(this.#work);
    if (existsSync(this.#folder)) {
      removeWhole(this.#previous);
      renameSynced(this.#folder, this.#previous);
    }
    renameSynced(this.#work, this.#folder);
  }

  abandon(): void {
    removeWhole(this.#work);
  }

  /** Damaged metadata give way to the copy before them, and that to the shipped root. */
  #makeWhole(): void {
    this.#finishRename();
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
    this.commit(isFirst ? 0 : (sealOf(this.#previous)?.newestMs ?? 0));
  }

  /** A power cut between the two renames of a commit left no folder, but both others. */
  #finishRename(): void {
    if (!existsSync(this.#folder) && isWhole(this.#work)) renameSynced(this.#work, this.#folder);
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

const sealOf = (folder: string): Seal | undefined =>
  readJsonIfWhole(join(folder, SEAL), sealSchema);

/** The SHA-256 of each file; a folder among the files has no hash that a seal could have. */
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
