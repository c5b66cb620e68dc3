import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { updateFolderOf } from "../shared/process/probation.ts";
import { syncFolder } from "../shared/store/store-file.ts";
import type { Clock } from "../shared/time.ts";
import { isDiskFull, makeRoom, requireRoom, roomNeeded } from "./disk-room.ts";
import { makeFolder, removeWhole } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";
import { chosenRelease, compareVersions } from "./offer-policy.ts";
import { clearOldVersions, lineIn } from "./old-versions.ts";
import { type OfferedRelease, releasesIn, runtimeNameOf } from "./release.ts";
import { TufClient } from "./tuf-client.ts";
import { unpack } from "./unpack.ts";
import {
  changeState,
  forgetReady,
  handOver,
  installationId,
  readHold,
  readState,
} from "./update-state.ts";
import { WebSource } from "./web-source.ts";

export interface CheckSettings {
  readonly dataDirectory: string;
  /** The folder with `versions` and `runtimes`. */
  readonly root: string;
  /** UPDATE_URL: the folder with `metadata` and `targets`. */
  readonly url: string;
  readonly channel: string;
  /** PEM text of UPDATE_CA_FILE. */
  readonly ca?: string | undefined;
  readonly clock: Clock;
  /** The version that runs the check. */
  readonly version: string;
  /** "ask": answers what would be taken. "fetch": downloads it for the launcher too. */
  readonly how: "ask" | "fetch";
  /** Reports damage that was mended, and releases whose metadata are wrong. */
  readonly tell: (message: string) => void;
  /** Ends the check without a trace; the next one continues what was downloaded. */
  readonly signal?: AbortSignal;
  /** Free bytes of the disk; missing: those that the system reports. */
  readonly freeBytes?: () => number;
}

export interface Found {
  /** The version that this installation takes; undefined: it has the newest that it may have. */
  readonly version: string | undefined;
  readonly notes: string;
  /** Whether the launcher may take it now. */
  readonly isReady: boolean;
}

const deliverySchema = z.object({
  version: z.string(),
  platform: z.string(),
  builtAt: z.iso.datetime().optional(),
});
type Delivery = z.infer<typeof deliverySchema>;

/**
 * One check for an update (docs/updates.md 4.4): metadata are brought up to date, the release is
 * chosen, its programs and a runtime that is new are downloaded, verified and unpacked beside the
 * present ones; last the launcher is told. How it went is remembered, also when it fails. The
 * caller holds the update lock. Rejects with {@link UpdateError}, or with a fault of the disk.
 */
export async function checkForUpdate(settings: CheckSettings): Promise<Found> {
  const { dataDirectory, clock } = settings;
  const nowMs = clock.now();
  try {
    const found = await look(settings);
    changeState(dataDirectory, () => ({ checkedMs: nowMs, fault: null }));
    return found;
  } catch (error) {
    if (settings.signal?.aborted) throw error;
    const { code, message } = error as UpdateError;
    changeState(dataDirectory, ({ fault }) => ({
      checkedMs: nowMs,
      fault: { code: code ?? "fault", message, sinceMs: fault?.sinceMs ?? nowMs },
    }));
    throw error;
  } finally {
    const expiresMs = nextExpiryMs(dataDirectory);
    changeState(dataDirectory, () => ({ expiresMs }));
  }
}

async function look(settings: CheckSettings): Promise<Found> {
  const { dataDirectory, url, ca, clock, version, tell } = settings;
  const own = deliveryIn(folderOf(settings, version));
  const client = new TufClient({
    folder: metadataFolderOf(dataDirectory),
    trustedRoot: trustedRootIn(folderOf(settings, version)),
    metadataUrl: `${url.replace(/\/+$/, "")}/metadata`,
    source: new WebSource({ clock, ...(ca === undefined ? {} : { ca }) }),
    signal: settings.signal,
    clock,
    builtMs: own.builtAt === undefined ? 0 : Date.parse(own.builtAt),
    remembersTime: true,
    alarm: tell,
  });
  return await client.withTargets(async (targets) => {
    changeState(dataDirectory, () => ({ freshMs: clock.now() }));
    const release = chosen(settings, own, releasesIn(targets.all, tell));
    if (!release) {
      forgetReady(dataDirectory);
      changeState(dataDirectory, () => ({ putOff: null }));
      return { version: undefined, notes: "", isReady: false };
    }
    const { version: next, notes } = release;
    if (settings.how === "ask") return { version: next, notes, isReady: false };
    if (!isLaid(settings, release, targets.all)) {
      await fetchRelease(settings, own, release, targets).catch((error: unknown) => {
        // Parts are kept for the next night, but never at the cost of the day's payments.
        if (isDiskFull(error)) makeRoom(dataDirectory, { storesToo: false });
        throw error;
      });
    }
    const isReady = readHold(dataDirectory, clock.now()) === undefined;
    if (isReady) handOver(dataDirectory, next, clock.now());
    return { version: next, notes, isReady };
  });
}

/** Remembers the offer, so that a share that is lowered later does not take it back. */
function chosen(
  { dataDirectory, channel, clock, version }: CheckSettings,
  { platform, builtAt }: Delivery,
  releases: readonly OfferedRelease[],
): OfferedRelease | undefined {
  const { offered, barred } = readState(dataDirectory);
  const { taken } = chosenRelease(releases, {
    installation: installationId(dataDirectory),
    version,
    platform,
    channel,
    offered,
    barred: barred.map((one) => one.version),
    nowMs: Math.max(clock.now(), builtAt === undefined ? 0 : Date.parse(builtAt)),
  });
  if (taken && !offered.includes(taken.version)) {
    const newer = offered.filter((one) => compareVersions(one, version) > 0);
    changeState(dataDirectory, () => ({ offered: [...newer, taken.version] }));
  }
  return taken;
}

type Targets = Parameters<Parameters<TufClient["withTargets"]>[0]>[0];

/** Whether a whole version came from its signed archive; `--delivery` lays unsigned ones too. */
function isLaid(settings: CheckSettings, release: OfferedRelease, all: Targets["all"]): boolean {
  const { laid } = readState(settings.dataDirectory);
  if (!existsSync(markOf(settings, release.version))) return false;
  // Programs of another data folder may run from it.
  if (lineIn(join(settings.root, "current"))[0] === release.version) return true;
  return laid?.version === release.version && laid.hashes === hashesOf(all, release.target);
}

function hashesOf(all: Targets["all"], path: string): string {
  return JSON.stringify(Object.entries(targetOf(all, path).hashes).sort());
}

/** The version lies whole beside the present one when it resolves, its mark last. */
async function fetchRelease(
  settings: CheckSettings,
  { platform }: Delivery,
  release: OfferedRelease,
  { all, download }: Targets,
): Promise<void> {
  const { dataDirectory, root, url, clock, version } = settings;
  const programs = targetOf(all, release.target);
  const runtime = targetOf(all, release.runtime);
  const runtimeName = runtimeNameOf(runtime, platform);
  const runtimeFolder = join(root, "runtimes", runtimeName);
  const isNewRuntime = !existsSync(runtimeFolder);
  clearOldVersions(root, [version, release.version], [runtimeName]);
  const bytes = programs.length + (isNewRuntime ? runtime.length * RUNTIME_GROWTH : 0);
  const needed = roomNeeded(dataDirectory, folderOf(settings, version), bytes);
  requireRoom(dataDirectory, needed, settings.freeBytes?.());
  const base = `${url.replace(/\/+$/, "")}/targets`;
  const downloads = downloadsFor(dataDirectory, release.version);
  if (isNewRuntime) {
    const archive = join(downloads, "runtime.tar.gz");
    await download(runtime, base, archive);
    await unpack({ archive, to: runtimeFolder, hasMark: false, clock });
    removeWhole(archive);
  }
  const archive = join(downloads, "programs.tar.gz");
  await download(programs, base, archive);
  const to = folderOf(settings, release.version);
  // Without its mark, whatever lies there is replaced.
  if (existsSync(to)) {
    rmSync(markOf(settings, release.version), { force: true });
    syncFolder(to);
  }
  await unpack({ archive, to, hasMark: true, clock });
  mustBe(release, to, runtimeName);
  const laid = { version: release.version, hashes: hashesOf(all, release.target) };
  changeState(dataDirectory, () => ({ laid }));
  removeWhole(dirOfDownloads(dataDirectory));
}

/** A runtime unpacks to some three times its archive, which lies beside it meanwhile. */
const RUNTIME_GROWTH = 4;

function targetOf(all: Targets["all"], path: string): Targets["all"][number] {
  const found = all.find((target) => target.path === path);
  if (found) return found;
  throw new UpdateError("no-target", `the signed metadata name no target ${path}`);
}

/** A version has to be the one of which its signed words tell. */
function mustBe({ version, platform }: OfferedRelease, folder: string, runtime: string): void {
  const delivery = deliveryIn(folder);
  const named = readFileSync(join(folder, "runtime"), "utf8").trim();
  const isSame =
    delivery.version === version && delivery.platform === platform && named === runtime;
  if (isSame) return;
  removeWhole(folder);
  throw new UpdateError("archive", `the archive of ${version} holds something else: refused`);
}

const dirOfDownloads = (dataDirectory: string): string =>
  join(updateFolderOf(dataDirectory), "downloads");

/** Parts of this version are taken up again; those of others go. */
function downloadsFor(dataDirectory: string, version: string): string {
  const folder = dirOfDownloads(dataDirectory);
  makeFolder(folder);
  for (const name of readdirSync(folder)) if (name !== version) removeWhole(join(folder, name));
  return join(folder, version);
}

function folderOf({ root }: CheckSettings, version: string): string {
  return join(root, "versions", version);
}

function markOf(settings: CheckSettings, version: string): string {
  return join(folderOf(settings, version), "complete");
}

function deliveryIn(folder: string): Delivery {
  return deliverySchema.parse(JSON.parse(readFileSync(join(folder, "delivery.json"), "utf8")));
}

function trustedRootIn(folder: string): Buffer | undefined {
  const file = join(folder, "trusted-root.json");
  return existsSync(file) ? readFileSync(file) : undefined;
}

const roles = ["root", "targets", "snapshot", "timestamp"] as const;
const metadataSchema = z.object({ signed: z.object({ expires: z.iso.datetime() }) });

/** Where an installation keeps the metadata that it has verified (docs/updates.md 2.1). */
function metadataFolderOf(dataDirectory: string): string {
  return join(updateFolderOf(dataDirectory), "metadata");
}

/** When the first of the kept metadata expires; null: they are not all there. */
function nextExpiryMs(dataDirectory: string): number | null {
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
