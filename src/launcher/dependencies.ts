import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Whether node_modules holds the packages of package-lock.json: exit code 0 or 1. The shell files
 * call this before anything else is loaded, so the file uses nothing but Node. Versions are
 * compared and not dates, so that a kiosk without network keeps packages that are right.
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
// The record that npm itself keeps of what it has installed.
const installed = packagesOf("node_modules/.package-lock.json");

const areInstalled = Object.entries(wanted).every(([path, entry]) => {
  if (path === "" || entry.link) return true;
  const found = installed[path];
  // A delivered archive has no development packages, and no machine has every optional package.
  if (!found) return Boolean(entry.optional ?? entry.dev ?? entry.devOptional);
  return found.version === entry.version && found.integrity === entry.integrity;
});
process.exitCode = areInstalled ? 0 : 1;

function packagesOf(file: string): Record<string, Package> {
  try {
    const lock = JSON.parse(readFileSync(join(root, file), "utf8")) as {
      packages?: Record<string, Package>;
    };
    return lock.packages ?? {};
  } catch {
    return {}; // the file is missing or cut short, so nothing counts as installed
  }
}
