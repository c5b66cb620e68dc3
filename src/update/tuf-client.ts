import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Metadata, MetadataKind, type TargetFile } from "@tufjs/models";
import { Updater } from "tuf-js";
import { DownloadHTTPError, ExpiredMetadataError, PersistError } from "tuf-js/dist/error.js";
import { z } from "zod";
import { readJsonIfWhole, syncFile, syncFolder, writeSynced } from "../shared/store/store-file.ts";
import { isoTime } from "../shared/time.ts";
import { makeFolder, removeWhole, renameSynced } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";
import { allowedAddress, downloadTarget, readWebFile, type WebSettings } from "./web-source.ts";

/** The time limit for one file of metadata in ms; these files are small. */
const METADATA_DEADLINE_MS = 5 * 60_000;

interface TufSettings extends WebSettings {
  /** The folder of the stored metadata. */
  readonly folder: string;
  /** The root from the delivery, used if the stored metadata are missing or damaged. */
  readonly trustedRoot?: Buffer | undefined;
  readonly alarm: (message: string) => void;
  readonly metadataUrl: string;
  /** The time at which the program was built, or 0; the present time cannot be earlier. */
  readonly builtMs: number;
  /** Whether to remember the newest time at which metadata were fresh (docs/updates.md 2.2). */
  readonly remembersTime: boolean;
  /** Asked whether the metadata of a medium are used although they expired at that time. */
  readonly acceptsExpired?: ((expiredMs: number) => Promise<boolean>) | undefined;
}

/**
 * Updates the metadata of TUF (theupdateframework.io) and lets `use` work with the verified
 * targets. tuf-js verifies the metadata; this module stores and downloads them, and sets the time
 * with which tuf-js compares their expiry. As TUF demands, files that were verified before a
 * failure are stored: a new root counts even if a later file is refused. `offer-policy.ts` decides
 * by channel, platform and share.
 */
export async function withTargets<T>(
  settings: TufSettings,
  use: (targets: TrustedTargets) => Promise<T>,
): Promise<T> {
  const { folder, trustedRoot, alarm, clock, builtMs, remembersTime } = settings;
  const store = new MetadataStore(folder, alarm, trustedRoot);
  const work = store.beginWork();
  // A clock that was set back does not make old metadata fresh. A clock that ran ahead does no
  // lasting harm: its time is remembered only if metadata were fresh at that time, and later
  // metadata of the publisher expire later.
  const nowMs = Math.max(clock.now(), builtMs, remembersTime ? store.newestMs() : 0);
  let freshMs: number | undefined;
  const failed: Error[] = [];
  try {
    // The expiry of a medium's metadata is judged below, when all of them are verified.
    const { medium } = settings;
    const updater = updaterFor(settings, work, medium === undefined ? nowMs : 0, failed);
    await updater.refresh();
    const isFresh = medium === undefined || (await mayBeUsed(settings, work, nowMs));
    setReferenceTime(updater, new Date(nowMs));
    freshMs = remembersTime && isFresh ? nowMs : undefined;
    const result = await use(trustedTargets(settings, updater, work, { nowMs, isFresh }));
    store.commit(freshMs);
    return result;
  } catch (error) {
    try {
      if (error instanceof PersistError) store.abandon();
      else store.commit(freshMs);
    } catch (cause) {
      // The stored metadata are unchanged; the error that is thrown below says more.
      alarm(`the metadata of updates were not stored: ${(cause as Error).message}`);
    }
    throw readable(error, nowMs, failed);
  }
}

/**
 * Returns whether verified metadata are fresh; false: timestamp or snapshot have expired, and the
 * caller uses them all the same. Throws when they may not be used.
 */
async function mayBeUsed({ acceptsExpired }: TufSettings, work: string, nowMs: number) {
  const expired = ["root", "targets", "snapshot", "timestamp"].flatMap((role) => {
    const expiresMs = Date.parse(jsonOf(work, role).signed.expires);
    return expiresMs <= nowMs ? [{ role, expiresMs }] : [];
  });
  if (expired.length === 0) return true;
  const ofPersons = expired.find(({ role }) => role === "root" || role === "targets");
  const [first = 0] = expired.map(({ expiresMs }) => expiresMs).sort((a, b) => a - b);
  if (!ofPersons && (await acceptsExpired?.(first))) return false;
  const { role } = ofPersons ?? { role: "timestamp" };
  throw new ExpiredMetadataError(`${role}.json is expired`);
}

/** `failed`: gets the error of each download that failed, because tuf-js keeps its text alone. */
function updaterFor(settings: TufSettings, work: string, nowMs: number, failed: Error[]): Updater {
  const { metadataUrl, medium } = settings;
  if (medium === undefined) allowedAddress(metadataUrl);
  const updater = new Updater({
    metadataDir: work,
    metadataBaseUrl: metadataUrl,
    fetcher: {
      downloadBytes: (url, lengthMax) =>
        readWebFile(settings, url, { deadlineMs: METADATA_DEADLINE_MS, lengthMax }).catch(
          (error: Error) => {
            failed.push(error);
            const status = error instanceof UpdateError ? error.status : undefined;
            if (status === undefined) throw error;
            throw new DownloadHTTPError(error.message, status);
          },
        ),
      downloadFile: () => Promise.reject(new Error("tuf-js must not download update files")),
    },
  });
  setReferenceTime(updater, new Date(nowMs));
  return updater;
}

/** The targets of verified metadata; they can be used only until `use` has ended. */
export type TrustedTargets = Readonly<ReturnType<typeof trustedTargets>>;

function trustedTargets(
  web: TufSettings,
  updater: Updater,
  work: string,
  { nowMs, isFresh }: { readonly nowMs: number; readonly isFresh: boolean },
) {
  const targets = Metadata.fromJSON(MetadataKind.Targets, jsonOf(work, "targets"));
  const root = Metadata.fromJSON(MetadataKind.Root, jsonOf(work, "root"));
  return {
    all: Object.values(targets.signed.targets),
    /** The latest known time; the present time cannot be earlier. */
    nowMs,
    /** Whether nothing has expired; false: the caller has accepted that. */
    isFresh,
    /** Returns a target. If a delegated role signs the target, its metadata are read first. */
    async find(name: string): Promise<TargetFile> {
      const target = await updater.getTargetInfo(name);
      if (target) return target;
      throw new UpdateError("no-target", `the signed metadata name no target ${name}`);
    },
    /** Downloads a target into `file`, which is written only if it is verified and complete. */
    download(target: TargetFile, baseUrl: string, file: string): Promise<void> {
      const url = targetUrl(baseUrl, target, root.signed.consistentSnapshot);
      return downloadTarget({ web, url, file, target });
    },
  };
}

/** Sets the time that tuf-js compares with the expiry of metadata, which no option can set. */
function setReferenceTime(updater: Updater, time: Date): void {
  const { trustedSet } = updater as unknown as { trustedSet?: { referenceTime?: unknown } };
  if (!(trustedSet?.referenceTime instanceof Date))
    throw new Error(
      "the package tuf-js has no member referenceTime to set; use its pinned version",
    );
  trustedSet.referenceTime = time;
}

/** Returns the address of a target; in a consistent snapshot it contains a hash (TUF 1.0, 6.2). */
function targetUrl(baseUrl: string, target: TargetFile, isConsistent: boolean): string {
  const parts = target.path.split("/");
  const name = parts.pop() ?? "";
  const [hash] = Object.values(target.hashes);
  const path = [...parts, isConsistent ? `${hash}.${name}` : name];
  return `${baseUrl.replace(/\/+$/, "")}/${path.map(encodedPart).join("/")}`;
}

/** Returns a part of a path percent-encoded, except characters allowed there (RFC 3986, pchar). */
function encodedPart(part: string): string {
  return encodeURIComponent(part).replace(/%(24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
}

function jsonOf(folder: string, role: string) {
  return JSON.parse(readFileSync(join(folder, `${role}.json`), "utf8"));
}

/** Returns an error of tuf-js as an UpdateError; some of its reasons stand only in its text. */
function readable(error: unknown, nowMs: number, failed: readonly Error[]): unknown {
  const download = failed.find((one) => (error as Error).message.endsWith(one.message));
  if (download instanceof UpdateError && download.status !== undefined) {
    const nothing = download.status === 404 ? "nothing is there: " : "";
    const more = { cause: download, status: download.status };
    return new UpdateError("http-status", `${nothing}${download.message}`, more);
  }
  if (download) return download;
  if (error instanceof UpdateError || (error as Error).name === "AbortError") return error;
  const message = (error as Error).message.replace(/^Unable to load .*? error (\w+: )*/, "");
  const options = { cause: error };
  if (error instanceof ExpiredMetadataError || message.endsWith(" is expired")) {
    const text = `at ${isoTime(nowMs)} the metadata have expired: ${message}`;
    return new UpdateError("metadata-expired", text, options);
  }
  return new UpdateError("metadata-refused", `metadata are refused: ${message}`, options);
}

/** The name of the file with the hashes of the metadata files, whose names all end in `.json`. */
const SEAL = "seal";

const sealSchema = z.object({
  /** The SHA-256 of every file in the folder, by the file's name. */
  files: z.record(z.string(), z.string()),
  /** The newest time at which metadata were fresh; 0: none (docs/updates.md 2.2). */
  newestMs: z.number(),
});
type Seal = z.infer<typeof sealSchema>;

/**
 * Trusted metadata in a folder that is replaced as a whole (docs/updates.md 2.1). Changes are made
 * in a copy; the copy is sealed with the hash of every file, synced and renamed into place, and the
 * previous folder is kept. So a power cut leaves the old folder or the new one. The seal shows
 * damage before use: an empty file could let older metadata be accepted again.
 */
export class MetadataStore {
  readonly #folder: string;
  readonly #previous: string;
  readonly #work: string;
  readonly #alarm: (message: string) => void;
  readonly #trustedRoot: Buffer | undefined;

  constructor(folder: string, alarm: (message: string) => void, trustedRoot?: Buffer) {
    this.#folder = folder;
    this.#previous = `${folder}.previous`;
    this.#work = `${folder}.work`;
    this.#alarm = alarm;
    this.#trustedRoot = trustedRoot;
  }

  /** Returns the folder of a new working copy of the metadata. */
  beginWork(): string {
    this.#makeWhole();
    this.#copyToWork(this.#folder);
    return this.#work;
  }

  /** Makes `root` the trusted root; the other metadata stay as they are. */
  begin(root: Buffer): void {
    this.#finishRename();
    if (existsSync(this.#folder)) this.#copyToWork(this.#folder);
    else this.#emptyWork();
    writeSynced(join(this.#work, "root.json"), root);
    this.commit();
  }

  /** Returns the newest time at which metadata were fresh; 0: no such time is remembered. */
  newestMs(): number {
    return sealOf(this.#folder)?.newestMs ?? 0;
  }

  /** Replaces the stored metadata with the working copy; writes nothing if both are equal. */
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
    for (const name of readdirSync(this.#work)) syncFile(join(this.#work, name));
    syncFolder(this.#work);
    if (existsSync(this.#folder)) {
      removeWhole(this.#previous);
      renameSynced(this.#folder, this.#previous);
    }
    renameSynced(this.#work, this.#folder);
  }

  abandon(): void {
    removeWhole(this.#work);
  }

  /** Replaces a folder of damaged metadata with the copy before it, or else begins anew. */
  #makeWhole(): void {
    this.#finishRename();
    if (isWhole(this.#folder)) return;
    const trustedRoot = this.#trustedRoot;
    const isFirst = !existsSync(this.#folder) && !existsSync(this.#previous);
    if (isWhole(this.#previous)) {
      this.#alarm("the metadata of updates are damaged: the copy before them is used");
      this.#copyToWork(this.#previous);
    } else {
      if (!trustedRoot) throw new UpdateError("no-root", "no trusted root of updates is there");
      if (!isFirst) {
        this.#alarm("the metadata of updates and their copy are damaged: they begin with our root");
      }
      this.#emptyWork();
      writeSynced(join(this.#work, "root.json"), trustedRoot);
    }
    removeWhole(this.#folder);
    this.commit(isFirst ? 0 : (sealOf(this.#previous)?.newestMs ?? 0));
  }

  /** Finishes a commit that a power cut interrupted between its two renames. */
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

const sealOf = (folder: string) => readJsonIfWhole(join(folder, SEAL), sealSchema);

/** Returns the SHA-256 of each file, by name; for a folder a text that matches no hash. */
function hashesOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== SEAL);
  const hashes = entries.map((entry) => {
    const path = join(folder, entry.name);
    return [entry.name, entry.isFile() ? hash("sha256", readFileSync(path)) : "no file"] as const;
  });
  return Object.fromEntries(hashes.sort(([a], [b]) => (a < b ? -1 : 1)));
}
