import { basename, dirname, extname, join, resolve, sep } from "node:path";

/*
 * Where the files of one version of the product are: the one place that knows, for sources and
 * bundles. The keep-alive loads this file every two minutes, so it stays small.
 */

/** `npm run bundle` makes `programs/NAME.js` of each program; all else lies as in the sources. */
const isBundled = extname(import.meta.filename) === ".js";

/** The folder of one version: package.json, docs, `src` with the assets, the programs. */
export const projectRoot = resolve(import.meta.dirname, isBundled ? ".." : "../..");

/**
 * The folder that an operator unpacked: a delivery holds its versions in `versions/X.Y.Z`
 * (docs/design.md 9.7), a checkout of the sources is one itself.
 */
export const installationRoot =
  basename(dirname(projectRoot)) === "versions" ? resolve(projectRoot, "../..") : projectRoot;
export const isDelivery = installationRoot !== projectRoot;
export const defaultDataDirectory = join(installationRoot, "data");
/** The folder of a demo for which none is named. */
export const demoDataDirectory = join(defaultDataDirectory, "demo");

/** The programs that Node.js runs, each with its entry below `src`. */
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

/** The script of a program, as a source or bundled, whichever this one is. */
export function programFile(name: ProgramName): string {
  return join(projectRoot, isBundled ? bundledFile(name) : sourceFile(name));
}

/** The folder of a version in a delivery (docs/design.md 9.7). */
export function versionFolder(version: string, root = installationRoot): string {
  return join(root, "versions", version);
}

/** The script of a program of another version. */
export function programFileOf(version: string, name: ProgramName): string {
  return join(versionFolder(version), bundledFile(name));
}

/** Whether a path is that program's script in whatever version, as a source or bundled. */
export function isProgramFile(path: string, name: ProgramName): boolean {
  return [bundledFile(name), sourceFile(name)].some((file) => path.endsWith(`${sep}${file}`));
}

const bundledFile = (name: ProgramName): string => join("programs", `${name}.js`);
const sourceFile = (name: ProgramName): string => join("src", programEntries[name]);

/** A file that a program reads and does not import; `path` is below `src`. */
export function assetFile(path: string): string {
  return join(projectRoot, "src", path);
}

/** The record of an update that has not ended, which decides what version runs. */
export function underWayFileOf(dataDirectory: string): string {
  return `${dataDirectory}/update/under-way.json`;
}

/** Names a version that is whole and waits for the launcher to take it. */
export function readyFileOf(dataDirectory: string): string {
  return `${dataDirectory}/update/ready.json`;
}

/** There while a new version is on probation: new payments are refused. */
export function probationMarkOf(dataDirectory: string): string {
  return `${dataDirectory}/update/probation`;
}
