import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Metadata, MetadataKind, type TargetFile } from "@tufjs/models";
import { Updater } from "tuf-js";
import { DownloadHTTPError, ExpiredMetadataError, PersistError } from "tuf-js/dist/error.js";
import { isoTime } from "../shared/time.ts";
import { UpdateError } from "./errors.ts";
import { MetadataStore, type MetadataStoreSettings } from "./metadata-store.ts";
import { downloadTarget } from "./target-download.ts";
import { allowedAddress, type WebSource } from "./web-source.ts";

/** Metadata are small; a server that feeds them slower than this is not waited for. */
const METADATA_DEADLINE_MS = 5 * 60_000;

export interface TufClientSettings extends MetadataStoreSettings {
  readonly metadataUrl: string;
  readonly source: WebSource;
  /** Metadata cannot be younger than the program that reads them: its build date, or 0. */
  readonly builtMs: number;
  /** Whether the newest time of fresh metadata counts for later checks (docs/updates.md 2.2). */
  readonly remembersTime: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The targets of verified metadata, as long as the work with them lasts. */
interface TrustedTargets {
  /** Every target of the top-level role. */
  readonly all: readonly TargetFile[];
  /** Looks in delegated roles too; may read metadata from the server. */
  find(name: string): Promise<TargetFile>;
  /** Into `file`, whole and verified, or not at all. */
  download(target: TargetFile, baseUrl: string, file: string): Promise<void>;
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
    const work = await this.#store.beginWork();
    const nowMs = this.#nowMs();
    let freshMs: number | undefined;
    try {
      const updater = this.#updaterFor(work, nowMs);
      await updater.refresh();
      freshMs = this.#settings.remembersTime ? nowMs : undefined;
      const result = await use(this.#trusted(updater, work));
      await this.#store.commit(freshMs);
      return result;
    } catch (error) {
      await this.#keepVerified(error, freshMs);
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

  #trusted(updater: Updater, work: string): TrustedTargets {
    const { source, signal } = this.#settings;
    const targets = Metadata.fromJSON(MetadataKind.Targets, jsonOf(work, "targets"));
    const root = Metadata.fromJSON(MetadataKind.Root, jsonOf(work, "root"));
    return {
      all: Object.values(targets.signed.targets),
      async find(name) {
        const target = await updater.getTargetInfo(name);
        if (target) return target;
        throw new UpdateError("no-target", `the signed metadata name no target ${name}`);
      },
      download(target, baseUrl, file) {
        const url = targetUrl(baseUrl, target, root.signed.consistentSnapshot);
        return downloadTarget({ source, url, file, target, signal });
      },
    };
  }

  async #keepVerified(error: unknown, freshMs: number | undefined): Promise<void> {
    try {
      if (error instanceof PersistError) return this.#store.abandon();
      await this.#store.commit(freshMs);
    } catch (cause) {
      // The first error says more; the store is as it was.
      this.#settings.alarm(`the metadata of updates were not stored: ${(cause as Error).message}`);
    }
  }
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
