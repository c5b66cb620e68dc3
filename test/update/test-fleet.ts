import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { updateFacts } from "../../src/supervisor/updates/update-facts.ts";
import { checkForUpdate } from "../../src/update/check-for-update.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { recordingLog } from "../support/house/recording-log.ts";
import { tarGz } from "./tar-archive.ts";
import { TestRepository } from "./test-repository.ts";

type CheckSettings = Parameters<typeof checkForUpdate>[0];

export const DAY_MS = 86_400_000;
export const [OLD_RUNTIME, NEW_RUNTIME] = ["0123456789abcdef", "fedcba9876543210"];

function filesOf(version: string, runtime: string, platform = "linux-x64") {
  const delivery = { version, platform, builtAt: "2026-01-01T00:00:00Z" };
  return {
    "delivery.json": JSON.stringify(delivery),
    runtime: `${runtime}\n`,
    "programs/supervisor.js": `console.log("${version}");`,
    complete: `${version}\n`,
  };
}

interface Offer {
  readonly version: string;
  readonly runtime?: string;
  readonly share?: number;
  readonly more?: object;
  /** What the archive holds instead. */
  readonly holds?: string;
}

/** A publisher's repository on a plain web server, and an installation of 1.0.0 that asks it. */
export class Fleet {
  readonly repository = new TestRepository();
  readonly root = temporaryFolder();
  readonly data = join(this.root, "data");
  readonly clock = new TestClock(Date.now());
  readonly alarmed: string[] = [];

  async begin(): Promise<this> {
    const files = Object.entries(filesOf("1.0.0", OLD_RUNTIME)).map(([path, content]) => [
      join("versions", "1.0.0", path),
      content,
    ]);
    const more = [
      ["current", "1.0.0\n"],
      [join("runtimes", OLD_RUNTIME, "node"), "elf"],
      [join("versions", "1.0.0", "trusted-root.json"), String(this.repository.trustedRoot)],
    ];
    for (const [path = "", content = ""] of [...files, ...more]) {
      mkdirSync(dirname(join(this.root, path)), { recursive: true });
      writeFileSync(join(this.root, path), content);
    }
    mkdirSync(this.data);
    await this.repository.serve();
    return this;
  }

  offer({ version, runtime = OLD_RUNTIME, share = 100, more = {}, holds = version }: Offer): void {
    const runtimeTarget = `runtimes/${runtime}/linux-x64.tar.gz`;
    const custom = {
      kind: "programs",
      version,
      platform: "linux-x64",
      channels: { stable: share },
      follows: "0.0.0",
      notBefore: "2026-01-01T00:00:00Z",
      withdrawn: false,
      replaces: [],
      notes: "",
      runtime: runtimeTarget,
      ...more,
    };
    const entries = Object.entries(filesOf(holds, runtime)).map(([path, content]) => ({
      path,
      content,
    }));
    const path = `programs/${version}/linux-x64.tar.gz`;
    this.repository.addTarget(path, tarGz(entries), "targets", custom);
    const note = { kind: "runtime", platform: "linux-x64", name: runtime };
    const node = tarGz([{ path: "node", content: "elf", mode: 0o755 }]);
    this.repository.addTarget(runtimeTarget, node, "targets", note);
    this.repository.publish("targets", "snapshot", "timestamp");
  }

  async check(how: CheckSettings["how"] = "fetch", more: Partial<CheckSettings> = {}) {
    return await checkForUpdate({
      dataDirectory: this.data,
      root: this.root,
      url: this.repository.url,
      channel: "stable",
      clock: this.clock,
      version: "1.0.0",
      how,
      alarm: (message) => this.alarmed.push(message),
      ...more,
    });
  }

  figures(asks = true) {
    const UPDATE_URL = asks ? this.repository.url : undefined;
    const config = { UPDATE_URL, UPDATE_CHANNEL: "stable" as const };
    const facts = updateFacts(this.data, config, this.clock, recordingLog().log, true);
    return facts() ?? expect.fail("the files of updates cannot be read");
  }

  versions(): string[] {
    return readdirSync(join(this.root, "versions")).sort();
  }
}
