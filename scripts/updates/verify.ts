import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { systemClock } from "../../src/shared/time.ts";
import { chosenRelease } from "../../src/update/offer-policy.ts";
import { type OfferedRelease, releasesIn, runtimeNameOf } from "../../src/update/release.ts";
import { withTargets } from "../../src/update/tuf-client.ts";
import { unpack } from "../../src/update/unpack.ts";
import { daysLeft, type Repository, type Role } from "./repository.ts";

type Print = (line: string) => void;

/** With fewer days than these before metadata expire a warning is printed. */
const daysToWarn: Readonly<Record<Role, number>> = {
  timestamp: 7,
  snapshot: 8,
  targets: 60,
  root: 120,
};

/**
 * Reads a repository as a kiosk does that begins with `root`: from a web server on this machine,
 * with the updater's own code, every target downloaded and unpacked. Throws at the first fault.
 */
export async function verify(repository: Repository, root: string, print: Print): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "updates-"));
  const server = await serve(repository.folder);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = {
    folder: join(work, "metadata"),
    trustedRoot: readFileSync(root),
    metadataUrl: `${url}/metadata`,
    clock: systemClock,
    builtMs: 0,
    remembersTime: false,
    alarm: print,
  };
  try {
    await withTargets(settings, async ({ all, download }) => {
      for (const target of all) {
        const archive = join(work, "target.tar.gz");
        await download(target, `${url}/targets`, archive);
        const { kind } = target.custom as { kind?: string };
        const hasMark = kind === "programs";
        await unpack({ archive, to: join(work, "unpacked"), hasMark });
        rmSync(join(work, "unpacked"), { recursive: true });
        rmSync(archive);
        print(`${target.path}: ${target.length} bytes, whole`);
      }
      const releases = releasesIn(all, (line) => {
        throw new Error(line);
      });
      for (const { runtime, platform } of releases) {
        const found = all.find(({ path }) => path === runtime);
        if (!found) throw new Error(`${runtime} is not among the targets`);
        runtimeNameOf(found, platform);
      }
      printOffers(releases, print);
    });
  } finally {
    server.close();
    rmSync(work, { recursive: true, force: true });
  }
  printExpiry(repository, print);
}

const SAMPLE = 1000;

/** What installations of each channel would take that have the oldest version. */
function printOffers(releases: readonly OfferedRelease[], print: Print): void {
  const channels = new Set(releases.flatMap((release) => Object.keys(release.channels)));
  const platforms = new Set(releases.map(({ platform }) => platform));
  for (const channel of channels) {
    for (const platform of platforms) {
      const taken = new Map<string, number>();
      for (let i = 0; i < SAMPLE; i++) {
        const nowMs = systemClock.now();
        const sample = { installation: `sample-${i}`, version: "0.0.0", offered: [], barred: [] };
        const one = chosenRelease(
          releases.map((release) => ({ ...release, follows: "0.0.0" })),
          { ...sample, channel, platform, nowMs },
        );
        if (one) taken.set(one.version, (taken.get(one.version) ?? 0) + 1);
      }
      const shares = [...taken].map(
        ([version, count]) => `${version} (${(count * 100) / SAMPLE} %)`,
      );
      print(`${channel}, ${platform}: ${shares.join(", ") || "nothing"}`);
    }
  }
}

function printExpiry(repository: Repository, print: Print): void {
  for (const role of ["root", "targets", "snapshot", "timestamp"] as const) {
    const document = repository.published(role);
    if (!document) continue;
    const days = daysLeft(document);
    const warning = days < daysToWarn[role] ? " - RENEW IT" : "";
    const { version } = document.signed;
    print(`${role} ${version}: holds ${Math.floor(days)} days more${warning}`);
  }
}

async function serve(folder: string): Promise<Server> {
  const server = createServer((request, response) => {
    try {
      const path = decodeURIComponent(new URL(request.url ?? "", "http://x").pathname);
      response.end(readFileSync(join(folder, normalize(path))));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
