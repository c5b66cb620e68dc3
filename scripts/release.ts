/**
 * Builds the deliveries of a version from the lock file, on any one platform for all of them:
 *   npm run release -- --version X.Y.Z --trusted-root FILE --contact ADDRESS
 *     --supported-until YYYY-MM-DD [--test-values] [--update-url URL] [--out dist]
 *     [--platform linux-x64|linux-arm64|win-x64 ...] [--key FILE ...]
 *     [--archives-only]
 * --trusted-root is the root metadata of `npm run updates -- init`, which comes first; its SHA-256
 * is the fingerprint that the delivery names. Next to the archives lie SHA256SUMS, the verify
 * program and the notes; --key signs SHA256SUMS as `npm run updates -- sign-release` does. The
 * contact and the last day of support stand in the delivery and in the metadata of updates;
 * --test-values marks a delivery whose values and keys nobody keeps. CHANGELOG.md needs a section
 * of the version, which becomes the notes of its update, except with --test-values.
 * For Linux it makes a Debian package too (docs/packages.md), except with --archives-only.
 * The same input gives the same bytes: files are sorted, and dated with the last commit (or with
 * SOURCE_DATE_EPOCH, seconds since 1970). Therefore a checkout with changes, or another Node.js
 * than that of the lock file, is refused, except with --test-values. docs/design.md 9.7 describes
 * the layout, docs/supply-chain.md how a stranger builds the same bytes.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { projectRoot } from "../src/shared/version-files.ts";
import { supervisorMigrations } from "../src/supervisor/supervisor-schema.ts";
import { migrations } from "../src/tp-manager/journal/database/migrations.ts";
import { makeBundle, nativePackages } from "./bundle.ts";
import { misused, readArguments } from "./command-line.ts";
import { makeTarGz, makeZip } from "./release/archives.ts";
import { debName, makeDeb } from "./release/deb.ts";
import { lockOf, withDependencies } from "./release/lock.ts";
import { openVex } from "./release/openvex.ts";
import { copyPackage, licences } from "./release/packages.ts";
import { partsList } from "./release/parts-list.ts";
import {
  installFor,
  mustBeLocked,
  type Platform,
  type PlatformName,
  platforms,
} from "./release/platforms.ts";
import { irreproducible, PROVENANCE, provenance } from "./release/provenance.ts";
import {
  filledVerifier,
  notesIn,
  releaseNotes,
  withPublisher,
  wrongPublisher,
} from "./release/publisher.ts";
import { type ReleaseRoot, ROOT, releaseRoot, signSums, writeSums } from "./release/sums.ts";
import { openKey, type SigningKey } from "./updates/keys.ts";
import { passphraseOf } from "./updates/passphrase.ts";

const MB = 1_000_000;
const MS_PER_SECOND = 1_000;

const { values } = readArguments({
  options: {
    version: { type: "string" },
    "trusted-root": { type: "string" },
    contact: { type: "string" },
    "supported-until": { type: "string" },
    "test-values": { type: "boolean", default: false },
    "update-url": { type: "string" },
    key: { type: "string", multiple: true, default: [] },
    out: { type: "string", default: "dist" },
    "archives-only": { type: "boolean", default: false },
    platform: { type: "string", multiple: true, default: Object.keys(platforms) },
  },
});
const { version, "trusted-root": trustedRoot, "update-url": updateUrl = null } = values;
const known = (name: string): name is PlatformName => name in platforms;
const chosen = values.platform.filter(known);
if (!version || !/^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/.test(version) || !trustedRoot) misused();
if (chosen.length < values.platform.length) misused();
if (updateUrl !== null && !URL.canParse(updateUrl)) misused();
const { contact, "supported-until": supportedUntil, "test-values": testValues } = values;
if (contact === undefined || supportedUntil === undefined) misused();
const publisher = { contact, supportedUntil, testValues };

const out = resolve(projectRoot, values.out);
const date = sourceDate();
const wrong = wrongPublisher(publisher, date.getTime());
if (wrong !== "") misused(`${wrong}\n`);
const changelog = readFileSync(join(projectRoot, "CHANGELOG.md"), "utf8");
if (notesIn(changelog, version) === undefined && !testValues) {
  misused(`CHANGELOG.md has no section ## [${version}]\n`);
}
const other = testValues ? "" : irreproducible();
if (other !== "") misused(`${other}: nobody else could build the same bytes\n`);
mustBeLocked();
const trusted = rootGiven(trustedRoot);
const keys: SigningKey[] = [];
for (const file of values.key) keys.push(openKey(file, await passphraseOf(file)));
const work = mkdtempSync(join(tmpdir(), "release-"));
/** The paths of the archives of this release. */
const archives: string[] = [];
try {
  mkdirSync(out, { recursive: true });
  mustBeOneVersion(out);
  const bundle = join(work, "bundle");
  const { packages } = await makeBundle(bundle);
  for (const name of chosen) await release(name, bundle, packages);
  layOutVerifier();
  const build = { options: optionsGiven(), contact, root: trusted.bytes, archives };
  writeFileSync(join(out, PROVENANCE), provenance(build));
  writeSums(out);
  if (keys.length > 0) signSums(out, keys, print);
  else print(`unsigned: npm run updates -- sign-release ${out} --key FILE...`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function rootGiven(file: string): ReleaseRoot {
  try {
    return releaseRoot(file);
  } catch (error) {
    return misused(`${(error as Error).message}\n`);
  }
}

/** The options that decide what is in the archives. */
function optionsGiven(): string[] {
  const given = {
    version: [version],
    "trusted-root": [`../${ROOT}`],
    contact: [contact],
    "supported-until": [supportedUntil],
    "update-url": updateUrl === null ? [] : [updateUrl],
    platform: chosen,
  };
  const options = Object.entries(given).flatMap(([name, each]) =>
    each.flatMap((value) => [`--${name}`, String(value)]),
  );
  const switches = ["archives-only", "test-values"] as const;
  return [...options, ...switches.flatMap((name) => (values[name] ? [`--${name}`] : []))];
}

/** One list of hashes is one release. */
function mustBeOneVersion(folder: string): void {
  const isOther = (name: string) => /\d\.\d+\.\d/.test(name) && !name.includes(String(version));
  const other = readdirSync(folder).find(isOther);
  if (other !== undefined) throw new Error(`${join(folder, other)} is of another release`);
}

/** Writes what a person needs next to the archives to verify them: SECURITY.md. */
function layOutVerifier(): void {
  const program = readFileSync(join(projectRoot, "scripts/delivery/verify-release.sh"), "utf8");
  const notes = releaseNotes(
    String(version),
    publisher,
    trusted,
    notesIn(changelog, String(version)),
  );
  writeFileSync(join(out, ROOT), trusted.bytes);
  writeFileSync(join(out, "verify-release.sh"), filledVerifier(program, publisher, trusted));
  writeFileSync(join(out, "RELEASE.txt"), notes);
}

function sourceDate(): Date {
  const given = process.env["SOURCE_DATE_EPOCH"];
  const seconds =
    given ?? execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: projectRoot }).toString();
  return new Date(Number(seconds) * MS_PER_SECOND);
}

async function release(
  name: PlatformName,
  bundle: string,
  bundled: readonly string[],
): Promise<void> {
  const platform = platforms[name];
  const packages = join(work, `packages-${name}`);
  installFor(platform, packages);
  const title = `terminal-connector-${version}`;
  const stage = join(work, `stage-${name}`);
  const root = join(stage, title);
  layOutRoot(root, platform);
  const runtime = layOutRuntime(root, platform, packages);
  layOutVersion(
    join(root, "versions", String(version)),
    runtime,
    platform,
    bundle,
    packages,
    bundled,
  );
  const file = join(out, `${title}-${name}.${platform.archive}`);
  const make = platform.archive === "zip" ? makeZip : makeTarGz;
  rmSync(file, { force: true });
  await make(stage, title, file, date);
  report(file);
  const { os, cpu } = platform;
  if (os !== "linux" || values["archives-only"]) return;
  const made = { version: String(version), contact: publisher.contact, cpu, date };
  const deb = join(out, debName(made));
  await makeDeb(root, join(work, `deb-${name}`), deb, made);
  report(deb);
}

function report(file: string): void {
  archives.push(file);
  const size = (statSync(file).size / MB).toFixed(1);
  process.stdout.write(`${file}\n  ${size} MB, sha256 ${sha256(file)}\n`);
}

/** Writes the files at the root of a delivery, which no update changes. */
function layOutRoot(root: string, { os }: Platform): void {
  mkdirSync(join(root, "versions"), { recursive: true });
  mkdirSync(join(root, "data"));
  const delivery = join(projectRoot, "scripts", "delivery");
  const scripts = ["launch.sh", "always-up.sh", "launch.cmd", "always-up.cmd"];
  const installer = os === "win32" ? ["install.cmd"] : [];
  for (const file of [...scripts, ...installer, "README.md"]) {
    cpSync(join(delivery, file), join(root, file));
    if (file.endsWith(".sh")) chmodSync(join(root, file), 0o755);
  }
  cpSync(join(delivery, "versions.txt"), join(root, "versions", "README.txt"));
  cpSync(join(projectRoot, "LICENSE"), join(root, "LICENSE"));
  writeFileSync(join(root, "data", "config.example.txt"), exampleWithUpdates());
  writeFileSync(join(root, "current"), `${version}\n`);
}

/** Returns the example of the setup file with the publisher's address. */
function exampleWithUpdates(): string {
  const text = readFileSync(join(projectRoot, "data", "config.example.txt"), "utf8");
  return updateUrl === null ? text : text.replace(/^#UPDATE_URL=$/m, `UPDATE_URL=${updateUrl}`);
}

/** Writes the runtime to a folder named by its hash, which versions share; returns the name. */
function layOutRuntime(root: string, platform: Platform, packages: string): string {
  const folder = join(packages, "node_modules", platform.runtimePackage);
  const program = join(folder, platform.runtime);
  const hash = sha256(program).slice(0, 16);
  const to = join(root, "runtimes", hash);
  mkdirSync(to, { recursive: true });
  const target = join(to, platform.os === "win32" ? "node.exe" : "node");
  cpSync(program, target);
  chmodSync(target, 0o755);
  cpSync(runtimeLicence(folder), join(to, "LICENSE"));
  return hash;
}

/** Returns the licence of the runtime; the package for Windows lacks it, another one has it. */
function runtimeLicence(folder: string): string {
  const others = Object.values(platforms).map(({ runtimePackage }) =>
    join(projectRoot, "node_modules", runtimePackage),
  );
  const found = [folder, ...others].map((each) => join(each, "LICENSE")).find(existsSync);
  if (!found)
    throw new Error("no package of the runtime with its LICENSE is installed: run npm ci");
  return found;
}

function layOutVersion(
  folder: string,
  runtime: string,
  platform: Platform,
  bundle: string,
  packages: string,
  bundled: readonly string[],
): void {
  cpSync(bundle, folder, { recursive: true });
  const lock = lockOf(packages);
  const native = withDependencies(nativePackages, lock, packages);
  for (const path of native) copyPackage(join(packages, path), join(folder, path), platform);
  const program = { name: "unattended-terminal-connector", version, type: "module" };
  const files = {
    "package.json": { ...program, license: "Apache-2.0" },
    // The earliest time that an updater takes a kiosk's clock for (docs/updates.md 2.2).
    "delivery.json": {
      version,
      platform: `${platform.os}-${platform.cpu}`,
      updateUrl,
      ...publisher,
      builtAt: date.toISOString(),
      // The versions of the stores that these programs can read (docs/updates.md 4.2).
      schemas: { "journal.db": migrations.length, "supervisor.db": supervisorMigrations.length },
    },
  };
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), `${JSON.stringify(content, null, 2)}\n`);
  }
  const delivery = join(projectRoot, "scripts", "delivery", "version");
  for (const file of ["launch.sh", "launch.cmd"]) cpSync(join(delivery, file), join(folder, file));
  writeFileSync(join(folder, "trusted-root.json"), trusted.bytes);
  cpSync(join(projectRoot, "LICENSE"), join(folder, "LICENSE"));
  for (const name of ["CHANGELOG.md", "docs"]) {
    cpSync(join(projectRoot, name), join(folder, name), { recursive: true });
  }
  for (const name of ["README.md", "SECURITY.md"]) {
    const page = readFileSync(join(projectRoot, name), "utf8");
    writeFileSync(join(folder, name), withPublisher(page, String(version), publisher, trusted));
  }
  const all = [...new Set([...bundled, ...native])].sort();
  const withRuntime = [...all, `node_modules/${platform.runtimePackage}`].sort();
  writeFileSync(join(folder, "THIRD-PARTY.txt"), `${licences(withRuntime, lock, packages)}\n`);
  writeFileSync(join(folder, "runtime"), `${runtime}\n`);
  layOutPartsList(folder, runtime, platform, packages, all);
  writeFileSync(join(folder, "complete"), `${version}\n`);
}

/** Writes what is in a version, and what is known about it (docs/supply-chain.md). */
function layOutPartsList(
  folder: string,
  runtime: string,
  platform: Platform,
  installed: string,
  packages: readonly string[],
): void {
  const files = filesBelow(folder).map((path) => [path, sha256(join(folder, path))]);
  const program = join(installed, "node_modules", platform.runtimePackage, platform.runtime);
  const delivered = {
    version: String(version),
    dateMs: date.getTime(),
    contact: publisher.contact,
    packages,
    lock: lockOf(installed),
    installed,
    runtime: {
      path: `runtimes/${runtime}/${basename(platform.runtime)}`,
      package: platform.runtimePackage,
      sha256: sha256(program),
    },
    files: Object.fromEntries(files),
  };
  writeFileSync(join(folder, "sbom.cdx.json"), partsList(delivered));
  writeFileSync(join(folder, "openvex.json"), openVex(delivered));
}

function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

/** The files below a folder, sorted, with / between the names. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(folder, path)).isFile())
    .map((path) => path.replaceAll("\\", "/"))
    .sort();
}
