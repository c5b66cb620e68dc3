import { existsSync, readFileSync } from "node:fs";
import { arch, platform } from "node:os";
import { join, resolve } from "node:path";
import { readEntries } from "../config/config-file.ts";
import { projectRoot } from "../version-files.ts";

/** Where one installation keeps what it writes. */
export interface Installation {
  readonly dataDirectory: string;
  readonly configFile: string;
  readonly logDirectory: string;
}

/** The installation with this data folder: `--data DIR`, else `data` next to package.json. */
export function installationAt(dataDirectory: string): Installation {
  const directory = resolve(dataDirectory);
  return {
    dataDirectory: directory,
    configFile: join(directory, "config.txt"),
    logDirectory: join(directory, "logs"),
  };
}

/** The values of a setup file by their names; undefined where the file, or the name, is missing. */
export function settingsIn(file: string): (name: string) => string | undefined {
  const { entries } = readEntries(existsSync(file) ? readFileSync(file, "utf8") : "");
  return (wanted) => entries.find(({ name }) => name === wanted)?.value;
}

/** The number in package.json. */
export const versionNumber: string = (
  JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as { version: string }
).version;

/** `linux_x64`, `windows_x64`: as in the version string (docs/design.md 12.8). */
export function osName(): string {
  return `${platform() === "win32" ? "windows" : platform()}_${arch()}`;
}
