import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/shared/time.ts";
import { MetadataStore, withTargets } from "../../src/update/tuf-client.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import type { TestRepository } from "./test-repository.ts";

const DAY_MS = 86_400_000;

/** One installation that asks a repository for updates, with a clock that the test sets. */
export class TufKiosk {
  readonly folder = join(temporaryFolder(), "metadata");
  readonly files = temporaryFolder();
  readonly alarms: string[] = [];
  readonly repository: TestRepository;
  settings: Partial<Parameters<typeof withTargets>[0]> = {};
  /** How far the clock is from the true time. */
  daysAhead = 0;
  /** Within it something has to come. A test of a slow server makes it short. */
  windowMs = 30_000;

  constructor(repository: TestRepository) {
    this.repository = repository;
  }

  get #clock(): Clock {
    return { ...systemClock, now: () => systemClock.now() + this.daysAhead * DAY_MS };
  }

  get #store() {
    const alarm = (message: string): void => void this.alarms.push(message);
    return { folder: this.folder, alarm };
  }

  begin(root = this.repository.trustedRoot): void {
    const { folder, alarm } = this.#store;
    new MetadataStore(folder, alarm).begin(root);
  }

  get #client(): Parameters<typeof withTargets>[0] {
    return {
      ...this.#store,
      clock: this.#clock,
      windowMs: this.windowMs,
      metadataUrl: `${this.repository.url}/metadata/`,
      builtMs: 0,
      remembersTime: false,
      trustedRoot: this.repository.trustedRoot,
      ...this.settings,
    };
  }

  /** The line that an operator reads; undefined: all is well. */
  async refresh(): Promise<string | undefined> {
    return await this.#tried(() => Promise.resolve());
  }

  async download(name: string): Promise<string | undefined> {
    return await this.#tried(async (targets) => {
      const target = await targets.find(name);
      const file = join(this.files, encodeURIComponent(name));
      await targets.download(target, `${this.repository.url}/targets`, file);
    });
  }

  async #tried(use: Parameters<typeof withTargets>[1]): Promise<string | undefined> {
    try {
      await withTargets(this.#client, use);
      return undefined;
    } catch (error) {
      const { name, code, message } = error as Error & { code?: string };
      return name === "UpdateError" ? `${code}: ${message}` : `${name}: ${message}`;
    }
  }

  /** Trusted versions, as `root 1 targets 2`. */
  trusted(): string {
    const files = readdirSync(this.folder).filter((name) => name.endsWith(".json"));
    const listed = files.toSorted().map((name) => {
      const { signed } = JSON.parse(this.metadata(name).toString());
      return `${name.slice(0, -".json".length)} ${signed.version}`;
    });
    return listed.join(", ");
  }

  metadata(name: string): Buffer {
    return readFileSync(join(this.folder, name));
  }

  /** What was downloaded, by name; unfinished parts are hidden files. */
  downloaded(): Record<string, string> {
    const names = readdirSync(this.files).filter((name) => !name.startsWith("."));
    return Object.fromEntries(
      names.map((name) => [
        decodeURIComponent(name),
        readFileSync(join(this.files, name), "latin1"),
      ]),
    );
  }
}

export async function kioskAt(repository: TestRepository): Promise<TufKiosk> {
  const kiosk = new TufKiosk(await repository.serve());
  kiosk.begin();
  return kiosk;
}
