import { existsSync, readFileSync } from "node:fs";
import { arch, platform } from "node:os";
import { join, resolve } from "node:path";
import { readEntries } from "../config/config-file.ts";
import { readOr } from "../read-or.ts";
import { projectRoot } from "../version-files.ts";

export type Installation = Readonly<ReturnType<typeof installationAt>>;

export function installationAt(dataDirectory: string) {
  const directory = resolve(dataDirectory);
  return {
    dataDirectory: directory,
    configFile: join(directory, "config.txt"),
    logDirectory: join(directory, "logs"),
  };
}

/** Returns a function that reads a setting's text; undefined: the file or the name is missing. */
export function settingsIn(file: string): (name: string) => string | undefined {
  const { entries } = readEntries(existsSync(file) ? readFileSync(file, "utf8") : "");
  return (wanted) => entries.find(({ name }) => name === wanted)?.value;
}

export const versionNumber: string = (
  JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as { version: string }
).version;

/** `supportedUntil`: the last day of support, such as 2031-12-31. */
export interface Publisher extends Partial<Record<"contact" | "supportedUntil", string>> {
  readonly testValues?: boolean;
}

/** How long before the end of its support a version is reported (docs/cra.md). */
const SUPPORT_WARNED_MS = 180 * 24 * 60 * 60 * 1000;

/** Returns when the end of support is reported first, and the end; undefined: there is none. */
export function supportOf({ supportedUntil: until, testValues }: Publisher) {
  if (until === undefined || testValues) return undefined;
  const endMs = Date.parse(`${until}T24:00:00Z`);
  return { until, endMs, warnedMs: endMs - SUPPORT_WARNED_MS };
}

/** Returns what the publisher wrote into this delivery; {}: a checkout of the sources. */
export function publisherHere(): Publisher {
  const file = join(projectRoot, "delivery.json");
  return readOr({}, () => JSON.parse(readFileSync(file, "utf8")) as Publisher);
}

/** Returns the system as the version string has it, such as `linux_x64` (docs/design.md 12.8). */
export function osName(): string {
  return `${platform() === "win32" ? "windows" : platform()}_${arch()}`;
}
