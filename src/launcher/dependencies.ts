import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Checks whether node_modules holds the packages of package-lock.json: exit code 0 or 1. The shell
 * files call this before any package can be loaded, so this file uses nothing but Node.js. It
 * compares versions and not dates, so that a kiosk without network keeps packages that are right.
 */
interface Package {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

const root = join(import.meta.dirname, "../..");
const wanted = packagesOf("package-lock.json");
const installed = packagesOf("node_modules/.package-lock.json");

const areInstalled = Object.entries(wanted).every(([path, entry]) => {
  if (path === "" || entry.link) return true;
  const found = installed[path];
  // Development packages, and optional packages for other systems, may be missing.
  if (!found) return Boolean(entry.optional ?? entry.dev ?? entry.devOptional);
  return found.version === entry.version && found.integrity === entry.integrity;
});
process.exitCode = areInstalled ? 0 : 1;

function packagesOf(file: string): Record<string, Package> {
  try {
    return JSON.parse(readFileSync(join(root, file), "utf8")).packages ?? {};
  } catch {
    return {}; // the file is missing or cut short, so nothing counts as installed
  }
}
