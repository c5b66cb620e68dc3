import { cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join, relative } from "node:path";
import { type Lock, nameOf } from "./lock.ts";
import type { Platform } from "./platforms.ts";

const keptFiles = new Set([".js", ".cjs", ".mjs", ".json", ".node", ".dll", ".exe"]);

/** Copies what a package needs at run time on this platform, and its licence. */
export function copyPackage(from: string, to: string, { os, cpu }: Platform): void {
  const binaries = `${os}-${cpu}`;
  cpSync(from, to, {
    recursive: true,
    filter: (path) => {
      const [top = "", second = ""] = relative(from, path).split(/[\\/]/);
      // What a package of its own brings is copied with that package.
      if (top === "node_modules") return false;
      if (top === "prebuilds" && second !== "" && second !== binaries) return false;
      if (statSync(path).isDirectory()) return true;
      if (/\.musl\.node$/.test(path)) return false; // the runtime itself needs glibc
      return keptFiles.has(extname(path)) || isLicence(basename(path));
    },
  });
}

function isLicence(name: string): boolean {
  return /^(licen[cs]e|copying|notice)/i.test(name);
}

/** The licences of all packages in one text. */
export function licences(paths: readonly string[], lock: Lock, folder: string): string {
  return paths
    .map((path) => {
      const { version = "", license = "" } = lock[path] ?? {};
      const texts = readdirSync(join(folder, path))
        .filter(isLicence)
        .sort()
        .map((file) => readFileSync(join(folder, path, file), "utf8").trim());
      return [`${nameOf(path)} ${version} (${license})`, "", ...texts].join("\n");
    })
    .join(`\n\n${"-".repeat(80)}\n\n`);
}
