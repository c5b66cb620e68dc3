import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../shared/store/store-file.ts";
import { removeWhole } from "./durable-files.ts";

/**
 * Removes the versions that are neither named by the root's files nor among `kept`, and the
 * runtimes that none of the rest needs: two versions stay (docs/updates.md 4.5). The mark goes
 * first, so that a folder that is gone by half is never run; a runtime has none and loses its name
 * first. Files in use are left for the next time.
 */
export function clearOldVersions(
  root: string,
  kept: readonly string[],
  keptRuntimes: readonly string[] = [],
  remove: (path: string) => void = removeWhole,
): void {
  const versions = join(root, "versions");
  const needed = new Set([...kept, ...named(root)]);
  for (const entry of readdirSync(versions, { withFileTypes: true })) {
    if (!entry.isDirectory() || needed.has(entry.name)) continue;
    quietly(() => {
      rmSync(join(versions, entry.name, "complete"), { force: true });
      syncFolder(join(versions, entry.name));
      remove(join(versions, entry.name));
    });
  }
  const runtimes = join(root, "runtimes");
  const used = new Set([
    ...readdirSync(versions).flatMap((version) => lineIn(join(versions, version, "runtime"))),
    ...keptRuntimes,
  ]);
  for (const name of existsSync(runtimes) ? readdirSync(runtimes) : []) {
    if (!used.has(name)) quietly(() => remove(withoutName(runtimes, name)));
  }
}

const REMOVING = ".removing";

/** No runtime has that name: what a cut leaves of it is never taken for one. */
function withoutName(runtimes: string, name: string): string {
  if (name.endsWith(REMOVING)) return join(runtimes, name);
  const to = join(runtimes, `${name}${REMOVING}`);
  removeWhole(to);
  renameSync(join(runtimes, name), to);
  syncFolder(runtimes);
  return to;
}

function named(root: string): string[] {
  return ["current", "previous"].flatMap((name) => lineIn(join(root, name)));
}

/** The one line of a file; none when the file is not there. */
export function lineIn(file: string): string[] {
  return existsSync(file) ? [readFileSync(file, "utf8").trim()] : [];
}

/** Windows keeps files that are in use. */
function quietly(remove: () => void): void {
  try {
    remove();
  } catch {
    // Left for the next time.
  }
}
