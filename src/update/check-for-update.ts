import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TargetFile } from "@tufjs/models";
import { z } from "zod";
import type { Config } from "../shared/config/config.ts";
import { proxyChoice } from "../shared/config/proxy.ts";
import { certificatesIn, readGiven } from "../shared/config/server-trust.ts";
import { exitCodes, ProgramExit } from "../shared/process/exit-codes.ts";
import { type Installation, versionNumber } from "../shared/program/installation.ts";
import { updateFolderOf } from "../shared/program/probation.ts";
import { readOr } from "../shared/read-or.ts";
import { isoTime, systemClock } from "../shared/time.ts";
import { installationRoot, versionFolder } from "../shared/version-files.ts";
import {
  clearOldVersions,
  isDiskFull,
  lackOfRoom,
  lineIn,
  makeRoom,
  roomNeeded,
} from "./disk-room.ts";
import { makeFolder, removeWhole } from "./durable-files.ts";
import { UpdateError } from "./errors.ts";
import { folderAddress } from "./folder-source.ts";
import { chosenRelease, compareVersions } from "./offer-policy.ts";
import {
  type Delivery,
  deliveryIn,
  isComplete,
  type OfferedRelease,
  releasesIn,
  runtimeNameOf,
  unmark,
} from "./release.ts";
import { type TrustedTargets, withTargets } from "./tuf-client.ts";
import { unpack } from "./unpack.ts";
import {
  changeState,
  forgetReady,
  installationId,
  newestTaken,
  readHold,
  readState,
  readSwitch,
  tryUpdateLock,
  whenWanted,
  writeReady,
} from "./update-state.ts";
import type { WebSettings } from "./web-source.ts";

interface CheckSettings extends Omit<WebSettings, "ca"> {
  /** The file with the trusted certificates (UPDATE_CA_FILE); missing: those of Node.js. */
  readonly caFile?: string | undefined;
  readonly dataDirectory: string;
  /** The installation folder, with the subfolders `versions` and `runtimes`. */
  readonly root: string;
  /** The address of the folder with `metadata` and `targets` (UPDATE_URL, or `medium`). */
  readonly url: string;
  readonly channel: string;
  readonly version: string;
  /** "ask": the check only names a version. "fetch": it also downloads the version. */
  readonly how: "ask" | "fetch";
  /** Asked whether the folder's metadata are used although they expired at that time. */
  readonly acceptsExpired?: ((expiredMs: number) => Promise<boolean>) | undefined;
  /** Called for each damage of the stored metadata that was repaired, and each invalid release. */
  readonly alarm: (message: string) => void;
  /** Called with a fault of `caFile` that does not end the check. */
  readonly warn?: (message: string) => void;
  readonly freeBytes?: () => number;
}

interface CheckResult {
  /** The version to install; undefined: the installation has the newest version allowed to it. */
  readonly version: string | undefined;
  readonly notes: string;
  readonly supportedUntil?: string | undefined;
  /** Whether the version is unpacked and no hold of updates keeps it from being installed. */
  readonly isReady: boolean;
}

/** What a check calls, and the folder that it reads in place of the server. */
type CheckHooks = Pick<Required<CheckSettings>, "alarm" | "warn"> &
  Pick<CheckSettings, "acceptsExpired"> & { readonly from?: string | undefined };

type UpdateConfig = Partial<Config> & Pick<Config, "UPDATE_CHANNEL">;

/**
 * Checks for an update as an installation's setup file says, or in the folder `from`. Returns
 * undefined if another process checks or installs a version, or asked for the lock meanwhile.
 * Throws {@link ProgramExit} when the file names no server; rejects as {@link checkForUpdate} does.
 */
export async function checkNow(
  { dataDirectory }: Installation,
  config: UpdateConfig,
  how: CheckSettings["how"],
  { alarm, warn, from, acceptsExpired }: CheckHooks,
): Promise<CheckResult | undefined> {
  const { UPDATE_URL, UPDATE_CHANNEL: channel, UPDATE_CA_FILE: caFile } = config;
  const medium = from === undefined ? undefined : folderAddress(from);
  const url = medium ?? UPDATE_URL;
  if (url === undefined) {
    const why = "there is no check for an update: UPDATE_URL is not set";
    throw new ProgramExit(exitCodes.configuration, why);
  }
  const proxyFor = proxyChoice(config, process.env);
  // A launcher that finishes an interrupted switch needs the lock, so no check is made now.
  const lock = readSwitch(dataDirectory) ? undefined : tryUpdateLock(dataDirectory);
  if (!lock) return undefined;
  const over = new AbortController();
  const signal = whenWanted(dataDirectory, systemClock, over.signal);
  try {
    if (readSwitch(dataDirectory)) return undefined;
    const here = { root: installationRoot, clock: systemClock, version: versionNumber };
    const asked = { url, channel, caFile, proxyFor, medium, acceptsExpired };
    return await checkForUpdate({ ...here, ...asked, signal, dataDirectory, how, alarm, warn });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    over.abort();
    lock.release();
  }
}

/** Returns the result of a check as text for people. */
export function checkText({ version, notes, supportedUntil, isReady }: CheckResult): string {
  const more = notes === "" ? "" : ` (${notes})`;
  if (version === undefined) return `there is no newer version for this installation${more}`;
  const support = supportedUntil === undefined ? "" : `, supported until ${supportedUntil}`;
  return `${version} is ${isReady ? "ready" : "offered"}${support}${more}`;
}

/**
 * Checks for an update once (docs/updates.md 4.4): updates the metadata, chooses the release,
 * downloads and verifies its programs and a new runtime, unpacks them next to the present version,
 * and names the version for the launcher. The state of updates records the result, or the failure.
 * The caller holds the update lock. Rejects with {@link UpdateError}, with a fault of the disk, or
 * with {@link ProgramExit} for a file without certificates.
 */
export async function checkForUpdate(settings: CheckSettings): Promise<CheckResult> {
  const { dataDirectory, clock, medium } = settings;
  const nowMs = clock.now();
  try {
    const result = await check(settings);
    // What is known of the server stays as it is.
    if (medium === undefined) changeState(dataDirectory, () => ({ checkedMs: nowMs, fault: null }));
    return result;
  } catch (error) {
    if (settings.signal?.aborted || medium !== undefined) throw error;
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

async function check(settings: CheckSettings): Promise<CheckResult> {
  const { dataDirectory, root, url, clock, version, alarm } = settings;
  const ca = settings.medium === undefined ? trusted(settings) : [];
  const ownFolder = versionFolder(version, root);
  const own = deliveryIn(ownFolder);
  const rootFile = join(ownFolder, "trusted-root.json");
  const tuf = {
    ...settings,
    ca,
    folder: metadataIn(dataDirectory),
    trustedRoot: existsSync(rootFile) ? readFileSync(rootFile) : undefined,
    metadataUrl: `${withoutSlash(url)}/metadata`,
    builtMs: own.builtMs,
    remembersTime: true,
  };
  return await withTargets(tuf, async (targets) => {
    const { isFresh, nowMs } = targets;
    if (isFresh) changeState(dataDirectory, () => ({ freshMs: clock.now() }));
    const releases = releasesIn(targets.all, alarm);
    const floor = isFresh ? undefined : newestTaken(dataDirectory, version);
    const offers = { own, releases, floor };
    const release = chosen(settings, offers);
    if (!release) {
      forgetReady(dataDirectory);
      changeState(dataDirectory, () => ({ putOff: null }));
      mustBeOnTime(clock.now(), nowMs);
      const later = offered(settings, offers, Number.POSITIVE_INFINITY);
      const notes = later && `${later.version} is offered from ${isoTime(later.notBeforeMs)} on`;
      return { version: undefined, notes: notes ?? "", isReady: false };
    }
    const { version: next, notes, supportedUntil } = release;
    const found = { version: next, notes, supportedUntil };
    if (settings.how === "ask") return { ...found, isReady: false };
    await fetchRelease(settings, own.platform, release, targets).catch((error: unknown) => {
      // Partial downloads are kept for the next check, unless payments need their room on the disk.
      if (isDiskFull(error)) makeRoom(dataDirectory, { storesToo: false });
      throw error;
    });
    const isReady = readHold(dataDirectory, clock.now()) === undefined;
    if (isReady) writeReady(dataDirectory, next, clock.now());
    return { ...found, isReady };
  });
}

/**
 * Returns the certificates to trust. Kiosks are updated with files that are empty (Node.js trusts
 * its own) or partly damaged (Node.js stops at the damage), so such a file is only warned about.
 */
function trusted({ caFile, warn }: CheckSettings): string[] {
  try {
    return certificatesIn("UPDATE_CA_FILE", caFile);
  } catch (error) {
    const text = readGiven("UPDATE_CA_FILE", caFile ?? "");
    if (text !== "" && !text.includes(" CERTIFICATE-----")) throw error;
    warn?.((error as Error).message);
    return text === "" ? [] : [text];
  }
}

/** How much earlier in ms than a known time the clock may be before that is a fault. */
const CLOCK_PAST_MAX_MS = 24 * 60 * 60_000;

/** Throws when the clock is in the past, where newer versions are not offered yet. */
function mustBeOnTime(nowMs: number, knownMs: number): void {
  if (nowMs >= knownMs - CLOCK_PAST_MAX_MS) return;
  const times = `${isoTime(nowMs)}, but it is at least ${isoTime(knownMs)}`;
  const text = `no newer version is found, because the clock is in the past: it says ${times}`;
  throw new UpdateError("clock-past", text);
}

interface Offers {
  /** The delivery that runs. */
  readonly own: Delivery;
  readonly releases: readonly OfferedRelease[];
  /** The version to which every release must be newer; missing: the publisher's marks decide. */
  readonly floor: string | undefined;
}

/** Returns the release that is offered at a time. */
function offered(
  { dataDirectory, channel, version }: CheckSettings,
  { own: { platform }, releases, floor }: Offers,
  nowMs: number,
): OfferedRelease | undefined {
  const { offered, barred } = readState(dataDirectory);
  const installation = installationId(dataDirectory);
  const kiosk = { installation, version, platform, channel, offered, nowMs };
  const bars = barred.map((one) => one.version);
  const taken = chosenRelease(releases, { ...kiosk, barred: bars });
  if (taken && floor !== undefined && compareVersions(taken.version, floor) <= 0) return undefined;
  return taken;
}

/** Returns the release to install; its offer is recorded and outlasts a lower rollout share. */
function chosen(settings: CheckSettings, offers: Offers): OfferedRelease | undefined {
  const { dataDirectory, clock, version } = settings;
  const { offered: before } = readState(dataDirectory);
  const taken = offered(settings, offers, Math.max(clock.now(), offers.own.builtMs));
  if (taken && !before.includes(taken.version)) {
    const newer = before.filter((one) => compareVersions(one, version) > 0);
    changeState(dataDirectory, () => ({ offered: [...newer, taken.version] }));
  }
  return taken;
}

/** The room that a runtime needs, in sizes of its archive: one for the archive, three unpacked. */
const RUNTIME_GROWTH = 4;

/**
 * Downloads and unpacks a release, unless an earlier check has done so. When the promise resolves,
 * the new version is complete next to the present one; its mark was written last.
 */
async function fetchRelease(
  { dataDirectory, root, url, version, freeBytes }: CheckSettings,
  platform: string,
  release: OfferedRelease,
  { find, download }: TrustedTargets,
): Promise<void> {
  const programs = await find(release.target);
  const to = versionFolder(release.version, root);
  const unpacked = {
    version: release.version,
    hashes: JSON.stringify(Object.entries(programs.hashes).sort()),
  };
  const { laid: last } = readState(dataDirectory);
  // A complete but unsigned version came by `--delivery` and is replaced, unless the files in the
  // installation folder name it: then programs of another data folder may run it.
  const isNamed = lineIn(join(root, "current"))[0] === release.version;
  const isSigned = last?.version === unpacked.version && last.hashes === unpacked.hashes;
  if (isComplete(to) && (isNamed || isSigned)) return;
  const runtime = await find(release.runtime);
  const runtimeName = runtimeNameOf(runtime, platform);
  const runtimeFolder = join(root, "runtimes", runtimeName);
  const isNewRuntime = !existsSync(runtimeFolder);
  clearOldVersions(root, [version, release.version], [runtimeName]);
  const bytes = programs.length + (isNewRuntime ? runtime.length * RUNTIME_GROWTH : 0);
  const needed = roomNeeded(dataDirectory, versionFolder(version, root), bytes);
  const lack = lackOfRoom(dataDirectory, needed, freeBytes?.());
  if (lack !== undefined) throw new UpdateError("no-room", lack);
  const downloads = downloadsFor(dataDirectory, release.version);
  const fetch = async (target: TargetFile, name: string): Promise<string> => {
    const archive = join(downloads, `${name}.tar.gz`);
    await download(target, `${withoutSlash(url)}/targets`, archive);
    return archive;
  };
  if (isNewRuntime) {
    const archive = await fetch(runtime, "runtime");
    await unpack({ archive, to: runtimeFolder, hasMark: false });
    removeWhole(archive);
  }
  const archive = await fetch(programs, "programs");
  // Without its mark a folder does not count as a version, and `unpack` replaces the folder.
  if (existsSync(to)) unmark(to);
  await unpack({ archive, to, hasMark: true });
  mustBe(release, to, runtimeName);
  changeState(dataDirectory, () => ({ laid: unpacked }));
  removeWhole(downloadsIn(dataDirectory));
}

/** Removes the folder and throws if it does not contain the version of the signed metadata. */
function mustBe({ version, platform }: OfferedRelease, folder: string, runtime: string): void {
  const delivery = deliveryIn(folder);
  const [named] = lineIn(join(folder, "runtime"));
  const isPlatform = delivery.version === version && delivery.platform === platform;
  if (isPlatform && named === runtime) return;
  removeWhole(folder);
  throw new UpdateError("archive", `the archive of ${version} holds something else: refused`);
}

const downloadsIn = (dataDirectory: string) => join(updateFolderOf(dataDirectory), "downloads");

/** Returns the folder for the downloads of a version, and removes downloads of other versions. */
function downloadsFor(dataDirectory: string, version: string): string {
  const folder = downloadsIn(dataDirectory);
  makeFolder(folder);
  for (const name of readdirSync(folder)) if (name !== version) removeWhole(join(folder, name));
  return join(folder, version);
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, "");

const metadataSchema = z.object({ signed: z.object({ expires: z.iso.datetime() }) });

const metadataIn = (dataDirectory: string) => join(updateFolderOf(dataDirectory), "metadata");

/** Returns the earliest expiry of the stored metadata; null: a file is missing or damaged. */
function nextExpiryMs(dataDirectory: string): number | null {
  return readOr<number | null>(null, () => {
    const times = ["root", "targets", "snapshot", "timestamp"].map((role) => {
      const text = readFileSync(join(metadataIn(dataDirectory), `${role}.json`), "utf8");
      return Date.parse(metadataSchema.parse(JSON.parse(text)).signed.expires);
    });
    return Math.min(...times);
  });
}
