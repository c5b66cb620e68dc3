import { basename, dirname, extname, join, resolve, sep } from "node:path";

/*
 * This file has the paths of the files of one version, for sources and bundles. The keep-alive job
 * loads this file every two minutes, so the file stays small.
 */

/** Whether this code runs from a bundle, in which each program is one `.js` (`npm run bundle`). */
export const isBundled = extname(import.meta.filename) === ".js";

/** The folder of this version, with package.json, docs, assets in `src`, and the programs. */
export const projectRoot = resolve(import.meta.dirname, isBundled ? ".." : "../..");

/**
 * The folder that an operator unpacked. A delivery has its versions in `versions/X.Y.Z`
 * (docs/design.md 9.7); a checkout of the sources is a version itself.
 */
export const installationRoot =
  basename(dirname(projectRoot)) === "versions" ? resolve(projectRoot, "../..") : projectRoot;
export const isDelivery = installationRoot !== projectRoot;
export const defaultDataDirectory = join(installationRoot, "data");
/** The data folder of a demo that is started without `--data`. */
export const demoDataDirectory = join(defaultDataDirectory, "demo");

/** The programs that Node.js runs, each with its entry file below `src`. */
export const programEntries = {
  launcher: "launcher/main.ts",
  "tp-manager": "tp-manager/main.ts",
  supervisor: "supervisor/main.ts",
  audit: "tp-manager/audit/main.ts",
  "audit-worker": "tp-manager/audit/audit-worker.ts",
  "copy-database": "shared/store/copy-database.ts",
  "fleet-broker": "supervisor/fleet/broker-thread.ts",
  "update-check": "update/main.ts",
  "terminal-simulator": "simulator/terminal/main.ts",
  "gateway-sandbox": "simulator/gateway/main.ts",
} as const;

type ProgramName = keyof typeof programEntries;

/** Returns the script of a program of this version: a source file, or a bundle in a delivery. */
export function programFile(name: ProgramName): string {
  return join(projectRoot, isBundled ? bundledFile(name) : sourceFile(name));
}

/** Returns the folder of a version in a delivered installation (docs/design.md 9.7). */
export function versionFolder(version: string, root = installationRoot): string {
  return join(root, "versions", version);
}

export function programFileOf(version: string, name: ProgramName): string {
  return join(versionFolder(version), bundledFile(name));
}

/** Whether a path is the script of a program in any version, as a source file or bundled. */
export function isProgramFile(path: string, name: ProgramName): boolean {
  return [bundledFile(name), sourceFile(name)].some((file) => path.endsWith(`${sep}${file}`));
}

const bundledFile = (name: ProgramName): string => join("programs", `${name}.js`);
const sourceFile = (name: ProgramName): string => join("src", programEntries[name]);

/** Returns the path of a file that a program reads at run time; `path` is below `src`. */
export function assetFile(path: string): string {
  return join(projectRoot, "src", path);
}

/** Returns the path of the record of an unfinished update, which decides which version runs. */
export function underWayFileOf(dataDirectory: string): string {
  return `${dataDirectory}/update/under-way.json`;
}

/** Returns the path of the file that names the complete version for the launcher to install. */
export function readyFileOf(dataDirectory: string): string {
  return `${dataDirectory}/update/ready.json`;
}

/** Returns the path of the mark whose presence means a probation, during which no payment runs. */
export function probationMarkOf(dataDirectory: string): string {
  return `${dataDirectory}/update/probation`;
}
