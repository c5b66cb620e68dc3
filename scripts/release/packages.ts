import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, extname, join, relative } from "node:path";
import type { Lock } from "./lock.ts";
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
