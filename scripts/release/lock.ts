import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** An entry of package-lock.json, as far as a release reads it. */
interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
}

export type Lock = Readonly<Record<string, Locked>>;

/** The folders of packages below node_modules, each with its entry of the lock file. */
export function lockOf(folder: string): Lock {
  const text = readFileSync(join(folder, "package-lock.json"), "utf8");
  return (JSON.parse(text) as { readonly packages: Lock }).packages;
}

/** These packages and all that they need, as far as they are installed. */
export function withDependencies(names: readonly string[], lock: Lock, folder: string): string[] {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path) || !existsSync(join(folder, path))) return;
    found.add(path);
    for (const needed of neededBy(path, lock)) visit(needed);
  };
  for (const name of names) visit(`node_modules/${name}`);
  return [...found].sort();
}

/** The packages that a package needs; "": that the project needs. */
export function neededBy(path: string, lock: Lock): string[] {
  const { dependencies, optionalDependencies } = lock[path] ?? {};
  const names = Object.keys({ ...dependencies, ...optionalDependencies });
  return names.flatMap((name) => resolvePackage(name, path, lock) ?? []);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** The nearest one, as Node.js looks for it. */
function resolvePackage(name: string, from: string, lock: Lock): string | undefined {
  const path = from === "" ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (lock[path]) return path;
  if (from === "") return undefined;
  const above = from.lastIndexOf("/node_modules/");
  return resolvePackage(name, above < 0 ? "" : from.slice(0, above), lock);
}
