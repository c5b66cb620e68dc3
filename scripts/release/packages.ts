import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join, relative } from "node:path";
import type { Platform } from "./platforms.ts";

/** An entry of package-lock.json, as far as a release reads it. */
interface Locked {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

type Lock = Readonly<Record<string, Locked>>;

/** The folders of packages below node_modules, each with its entry of the lock file. */
export function lockOf(folder: string): Lock {
  const text = readFileSync(join(folder, "package-lock.json"), "utf8");
  return (JSON.parse(text) as { readonly packages: Lock }).packages;
}

/** These packages and all that they need, as far as they are installed. */
export function withDependencies(names: readonly string[], lock: Lock, folder: string): string[] {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    const path = resolvePackage(name, from, lock);
    if (path === undefined || found.has(path) || !existsSync(join(folder, path))) return;
    found.add(path);
    const { dependencies, optionalDependencies } = lock[path] ?? {};
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) {
      visit(needed, path);
    }
  };
  for (const name of names) visit(name, "");
  return [...found].sort();
}

/** The nearest one, as Node.js looks for it. */
function resolvePackage(name: string, from: string, lock: Lock): string | undefined {
  const path = from === "" ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (lock[path]) return path;
  if (from === "") return undefined;
  const above = from.lastIndexOf("/node_modules/");
  return resolvePackage(name, above < 0 ? "" : from.slice(0, above), lock);
}

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
        .map((file) => readFileSync(join(folder, path, file), "utf8").trim());
      return [`${nameOf(path)} ${version} (${license})`, "", ...texts].join("\n");
    })
    .join(`\n\n${"-".repeat(80)}\n\n`);
}

/** The parts list of a version: CycloneDX 1.6, JSON, the same for the same input. */
export function partsList(
  paths: readonly string[],
  lock: Lock,
  version: string,
  dateMs: number,
): string {
  const components = paths.map((path) => componentOf(path, lock));
  const metadata = {
    timestamp: new Date(dateMs).toISOString(),
    component: {
      type: "application",
      "bom-ref": "product",
      name: "unattended-terminal-connector",
      version,
      licenses: [{ license: { id: "Apache-2.0" } }],
    },
  };
  const dependencies = [{ ref: "product", dependsOn: components.map((each) => each["bom-ref"]) }];
  const content = { metadata, components, dependencies };
  const hash = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  const serial = [hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`];
  const uuid = [...serial, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join("-");
  const list = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    ...content,
  };
  return `${JSON.stringify(list, null, 2)}\n`;
}

function componentOf(path: string, lock: Lock) {
  const { version = "", integrity, license } = lock[path] ?? {};
  const name = nameOf(path);
  const [, algorithm, digest = ""] = /^(sha\d+)-(\S+)/.exec(integrity ?? "") ?? [];
  const hash = {
    alg: algorithm?.toUpperCase().replace("SHA", "SHA-"),
    content: Buffer.from(digest, "base64").toString("hex"),
  };
  return {
    type: "library",
    "bom-ref": path,
    name,
    version,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    ...(license ? { licenses: [{ expression: license }] } : {}),
    ...(algorithm ? { hashes: [hash] } : {}),
  };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}
