import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../../src/shared/time.ts";
import { folderAddress } from "../../src/update/folder-source.ts";
import { MetadataStore, withTargets } from "../../src/update/tuf-client.ts";
import { selfSigned } from "../supervisor/gateway/self-signed.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { testProxy } from "../support/programs/test-proxy.ts";
import type { TestRepository } from "./test-repository.ts";

const DAY_MS = 86_400_000;

/** How an installation reads a repository: docs/updates.md 2.4 and 4.8. */
export const ways = ["a server", "a proxy that decrypts TLS", "a folder"] as const;
type Way = (typeof ways)[number];

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
  /** The folder that is read in place of the server, with what the server has. */
  stick: string | undefined;

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
      metadataUrl: `${this.#url}/metadata/`,
      builtMs: 0,
      remembersTime: false,
      trustedRoot: this.repository.trustedRoot,
      ...this.settings,
    };
  }

  get #url(): string {
    return this.stick === undefined ? this.repository.url : folderAddress(this.stick);
  }

  /** The line that an operator reads; undefined: all is well. */
  async refresh(): Promise<string | undefined> {
    return await this.#tried(() => Promise.resolve());
  }

  async download(name: string): Promise<string | undefined> {
    return await this.#tried(async (targets) => {
      const target = await targets.find(name);
      const file = join(this.files, encodeURIComponent(name));
      await targets.download(target, `${this.#url}/targets`, file);
    });
  }

  async #tried(use: Parameters<typeof withTargets>[1]): Promise<string | undefined> {
    if (this.stick !== undefined) {
      rmSync(this.stick, { recursive: true });
      this.repository.writeTo(this.stick);
      this.settings = { medium: this.#url };
    }
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

export async function kioskAt(repository: TestRepository, way: Way = "a server") {
  const isProxied = way === "a proxy that decrypts TLS";
  const kiosk = new TufKiosk(await repository.serve(isProxied ? selfSigned : undefined));
  if (way === "a folder") kiosk.stick = temporaryFolder();
  if (isProxied) {
    const proxy = await testProxy({ to: Number(new URL(repository.url).port) });
    const proxyEnv = { https_proxy: proxy.url };
    const choice = { name: proxy.url, proxyEnv, certificates: [selfSigned.cert] };
    kiosk.settings = { proxyFor: () => choice };
  }
  kiosk.begin();
  return kiosk;
}
