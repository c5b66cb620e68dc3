import { extname, join, resolve } from "node:path";

/*
 * Where the files of one version of the product are: the one place that knows, for sources and
 * bundles. The keep-alive loads this file every two minutes, so it stays small.
 */

/** `npm run bundle` makes `programs/NAME.js` of each program; all else lies as in the sources. */
const isBundled = extname(import.meta.filename) === ".js";

/** The folder of one version: package.json, docs, `src` with the assets, the programs. */
export const projectRoot = resolve(import.meta.dirname, isBundled ? ".." : "../..");
export const defaultDataDirectory = join(projectRoot, "data");

/** The programs that Node.js runs, each with its entry below `src`. */
export const programEntries = {
  launcher: "launcher/main.ts",
  "tp-manager": "tp-manager/main.ts",
  supervisor: "supervisor/main.ts",
  audit: "tp-manager/audit/main.ts",
  "audit-worker": "tp-manager/audit/audit-worker.ts",
  "terminal-simulator": "simulator/terminal/main.ts",
  "gateway-sandbox": "simulator/gateway/main.ts",
} as const;

/** The script of a program, as a source or bundled, whichever this one is. */
export function programFile(name: keyof typeof programEntries): string {
  return isBundled
    ? join(projectRoot, "programs", `${name}.js`)
    : join(projectRoot, "src", programEntries[name]);
}

/** A file that a program reads and does not import; `path` is below `src`. */
export function assetFile(path: string): string {
  return join(projectRoot, "src", path);
}
