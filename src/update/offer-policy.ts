import { createHash } from "node:crypto";

/** One version of the programs for one platform, as the publisher has signed it. */
export interface Release {
  readonly version: string;
  readonly platform: string;
  /** The channels in which the version is offered, each with its rollout share in percent. */
  readonly channels: Readonly<Record<string, number>>;
  /** The oldest version from which an installation may change to this version directly. */
  readonly follows: string;
  readonly notBeforeMs: number;
  /** Whether the publisher has withdrawn the version: then no further installation takes it. */
  readonly withdrawn: boolean;
  /** Newer versions that this version replaces; nothing else leads back to an older version. */
  readonly replaces: readonly string[];
}

/** What is known of a kiosk and decides which versions it is offered. */
interface Candidate {
  readonly installation: string;
  readonly version: string;
  readonly platform: string;
  readonly channel: string;
  /** The versions once offered to the kiosk, which stay offered if the rollout share is lowered. */
  readonly offered: readonly string[];
  /** The versions whose programs failed on the kiosk. */
  readonly barred: readonly string[];
  readonly nowMs: number;
}

/**
 * Returns the release that an installation gets (docs/updates.md 3.2): the newest that is offered
 * to it, or else the newest that the publisher has marked as the way back from its present version.
 */
export function chosenRelease<R extends Release>(
  releases: readonly R[],
  candidate: Candidate,
): R | undefined {
  const theirs = releases.filter((one) => isTheirs(one, candidate));
  const replaced = new Set(theirs.flatMap(({ replaces }) => replaces));
  return theirs
    .filter((one) => !replaced.has(one.version) && mayFollow(one, candidate))
    .toSorted((a, b) => compareVersions(b.version, a.version))
    .at(0);
}

/** Returns whether a release is for a kiosk's platform and channel, and may be offered already. */
function isTheirs(release: Release, { platform, channel, nowMs }: Candidate): boolean {
  const { withdrawn, notBeforeMs } = release;
  const isOnChannel = Object.hasOwn(release.channels, channel);
  return release.platform === platform && isOnChannel && !withdrawn && notBeforeMs <= nowMs;
}

/** Returns whether a kiosk may change from its version to the release, and is in its share. */
function mayFollow({ version, ...release }: Release, candidate: Candidate): boolean {
  if (candidate.barred.includes(version)) return false;
  const isNewer = compareVersions(version, candidate.version) > 0;
  const isStep = isNewer
    ? compareVersions(candidate.version, release.follows) >= 0
    : release.replaces.includes(candidate.version);
  const share = release.channels[candidate.channel] ?? 0;
  const isInShare = rolloutPercent(candidate.installation, version) < share;
  return isStep && (candidate.offered.includes(version) || isInShare);
}

const PERCENT = 100;
const UINT32 = 2 ** 32;

/**
 * Returns the smallest rollout share, from 0 to just below 100, with which an installation gets a
 * version. The result is the same at every check and differs between versions, so that no kiosk is
 * always among the first (docs/updates.md 3.3).
 */
function rolloutPercent(installation: string, version: string): number {
  const hash = createHash("sha256").update(`${installation}\n${version}`).digest();
  return (hash.readUInt32BE(0) / UINT32) * PERCENT;
}

const versionForm = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*))?$/;

export function isVersion(text: string): boolean {
  return versionForm.test(text);
}

/** Orders versions: numbers by size, and a version with a suffix before that without a suffix. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [partsOf(left), partsOf(right)];
  for (const [i, part] of a.entries()) {
    const other = b[i];
    if (other === undefined) return 1;
    const areNumbers = /^\d+$/.test(part) && /^\d+$/.test(other);
    const difference = areNumbers ? Number(part) - Number(other) : part < other ? -1 : 1;
    if (part !== other && difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Splits a version to compare it: three numbers, 0 with or 1 without a suffix, suffix parts. */
function partsOf(version: string): readonly string[] {
  const [, major = "0", minor = "0", patch = "0", suffix] = versionForm.exec(version) ?? [];
  return [major, minor, patch, suffix === undefined ? "1" : "0", ...(suffix?.split(".") ?? [])];
}
