import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeZip } from "../../scripts/release/archives.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { ReleaseKeys } from "../support/files/release-folder.ts";
import { demoFolder } from "../support/programs/demo-folder.ts";
import { runToEnd } from "../support/programs/own-processes.ts";
import { isWhole } from "../support/run/scope.ts";

const MB = 1_000_000;
const folder = mkdtempSync(join(tmpdir(), "release-test-"));
const root = join(folder, "ein Kiösk");
const data = join(root, "data", "demo");
const version = join(root, "versions", "7.8.9");
const platform = `linux-${process.arch}`;
const system = `--os=linux --cpu=${process.arch}`;
const archiveName = `terminal-connector-7.8.9-${platform}.tar.gz`;
const npmFolder = join(folder, "npm");
const realNpm = execFileSync("which", ["npm"]).toString().trim();
/** What an ordinary machine has, and neither Node.js nor npm. */
const tools = join(folder, "tools");

/**
 * An npm that installs for the first release and links the same files for the other: the checksums
 * of the lock file hold two installations together, and each takes as long as the rest of a
 * release.
 */
const installsOnce = `#!/bin/sh
set -e
test "$*" != --version || exec "$REAL_NPM" --version
exec 9> "$FIRST.lock"
flock 9
if [ ! -e "$FIRST" ]; then
  "$REAL_NPM" "$@"
  cp -al node_modules "$FIRST.part"
  mv "$FIRST.part" "$FIRST"
else
  cp -al "$FIRST" node_modules
fi
`;

/**
 * An npm that links what is installed here, from the same lock file: an installation takes as long
 * as the rest of a release, and the whole scope makes a real one.
 */
const installsNothing = `#!/bin/sh
set -e
test "$*" != --version || exec echo 1.2.3
test "$*" = "ci --ignore-scripts --omit=dev --no-audit --no-fund --prefer-offline ${system}"
cmp package-lock.json "$PROJECT/package-lock.json"
ln -s "$PROJECT/node_modules" node_modules
`;

async function release(out: string, umask: string, zone: string): Promise<string> {
  const promises = ["--contact", "security@publisher.invalid", "--supported-until", "2099-12-31"];
  const args = ["--version", "7.8.9", "--trusted-root", keys.root(), "--out", out];
  args.push(...promises, "--test-values", ...keys.files("anna", "ben"));
  if (!isWhole) args.push("--archives-only"); // a package takes as long as an archive
  const url = ["--update-url", "https://updates.example/", "--platform", platform];
  const env = {
    ...process.env,
    TZ: zone,
    PATH: `${npmFolder}:${process.env["PATH"]}`,
    REAL_NPM: realNpm,
    FIRST: join(folder, "installed"),
    PROJECT: projectRoot,
    UPDATES_PASSPHRASE: keys.passphrase,
  };
  const script = join(projectRoot, "scripts/release.ts");
  const builder = ["-ec", `umask ${umask}; exec "$@"`, "sh", process.execPath];
  await runToEnd("sh", [...builder, script, ...args, ...url], { env });
  return join(out, archiveName);
}

function launch(script: string, ...args: string[]): Promise<{ readonly stdout: string }> {
  const env = { PATH: tools, HOME: folder, TMPDIR: tmpdir() };
  return runToEnd(join(root, script), args, { cwd: "/", env });
}

let archive: string;
let keys: ReleaseKeys;
/** Its entries, as tar lists them. */
let listing: string;
/** Made meanwhile from the same input, in folders of its own, in the whole scope. */
let again: Promise<string> | undefined;
beforeAll(async () => {
  mkdirSync(npmFolder);
  const npm = isWhole ? installsOnce : installsNothing;
  writeFileSync(join(npmFolder, "npm"), npm, { mode: 0o755 });
  mkdirSync(join(folder, "keys"));
  keys = new ReleaseKeys(join(folder, "keys"));
  again = isWhole ? release(join(folder, "again"), "022", "UTC") : undefined;
  again?.catch(() => {}); // its own test fails then
  archive = await release(join(folder, "out"), "077", "Pacific/Auckland");
  mkdirSync(tools);
  for (const tool of ["sh", "ls", "sort", "readlink", "cat"]) {
    symlinkSync(execFileSync("which", [tool]).toString().trim(), join(tools, tool));
  }
  const withEntries = ["--numeric-owner", "--full-time", "--utc", "-xvvzf"];
  listing = (await runToEnd("tar", [...withEntries, archive, "-C", folder])).stdout;
  renameSync(join(folder, "terminal-connector-7.8.9"), root);
});
afterAll(() => launch("launch.sh", "stop", "--data", data));

test("an unpacked delivery takes a payment, without Node.js and npm on the machine", async () => {
  await demoFolder(data);
  const { stdout } = await launch("launch.sh", "--demo");
  expect(stdout).toContain('"status": "Success"');
  expect(stdout).toContain('"notificationGatewaySent": true');
  const status = await launch("launch.sh", "status", "--data", data);
  expect(status.stdout).toMatch(/tp-manager +running .*version 7\.8\.9/);
  await launch("always-up.sh", "--data", data);
  const bundle = join(folder, "support.tar.gz");
  const doctor = launch("launch.sh", "doctor", "--data", data, "--bundle", bundle);
  const { stdout: report } = await doctor.catch((error) => error);
  expect(report).toContain("This delivery was built with test values");
  for (const file of ["sbom.cdx.json", "openvex.json"]) {
    const bundled = await runToEnd("tar", ["xzOf", bundle, file]);
    expect(bundled.stdout).toBe(readFileSync(join(version, file), "utf8"));
  }
  const audit = JSON.parse((await launch("launch.sh", "audit", "--json", "--data", data)).stdout);
  expect(audit).toMatchObject({ attempts: 1, faults: [] });
});

/** A system of its own: libraries, a few tools, the delivery; no network, no Node.js, no npm. */
function sandboxed(...command: string[]) {
  const libraries = ["/lib", "/lib64", "/usr/lib"].flatMap((path) => ["--ro-bind-try", path, path]);
  const bin = readdirSync(tools).flatMap((tool) => [
    "--ro-bind",
    realpathSync(join(tools, tool)),
    `/bin/${tool}`,
  ]);
  const own = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", root, "/kiosk"];
  const closed = ["--unshare-all", "--die-with-parent", "--clearenv", "--setenv", "PATH", "/bin"];
  const modules = "/usr/lib/node_modules"; // of an npm of this machine
  const hidden = existsSync(modules) ? ["--tmpfs", modules] : [];
  return runToEnd("bwrap", [...closed, ...libraries, ...hidden, ...bin, ...own, ...command]);
}

test("a delivery pays in a sandbox without network, Node.js and npm", async (context) => {
  await sandboxed("sh", "-c", ":").catch((error) => context.skip(`no bubblewrap here: ${error}`));
  const none = "! command -v node && ! command -v npm && ";
  const network = "cat /proc/net/dev && /kiosk/launch.sh --demo --data /tmp/demo";
  const { stdout } = await sandboxed("sh", "-ec", none + network);
  expect(stdout.match(/^ *\w+(?=:)/gm)?.map((name) => name.trim())).toEqual(["lo"]);
  expect(stdout).toContain('"status": "Success"');
  expect(stdout).toContain('"notificationGatewaySent": true');
});

test("the terminal's page and its modules are in a delivery", async () => {
  const { stdout } = await launch("launch.sh", "simulate", "--data", data);
  const control = /in a browser: (\S+)/.exec(stdout)?.[1];
  for (const path of ["", "page/terminal.js", "page/vendor/htm-preact.js"]) {
    const answer = await fetch(`${control}${path}`, { headers: { accept: "text/html" } });
    expect([path, answer.status]).toEqual([path, 200]);
  }
});

test("the console's page and the API's document find their files in a delivery", async () => {
  const config = readFileSync(join(data, "config.txt"), "utf8");
  const value = (name: string): string => new RegExp(`^${name}=(.+)`, "m").exec(config)?.[1] ?? "";
  const login = `${value("TERMINAL_MANAGER_LOGIN")}:${value("TERMINAL_MANAGER_PWD")}`;
  for (const [port, path, type] of [
    ["CONSOLE_PORT", "/", "text/html"],
    ["CONSOLE_PORT", "/vendor/htm-preact.js", "text/javascript"],
    ["LOCAL_PORT", "/openapi.json", "application/json"],
  ] as const) {
    const answer = await fetch(`http://localhost:${value(port)}${path}`, {
      headers: { authorization: `Basic ${btoa(login)}` },
    });
    expect([answer.status, answer.headers.get("content-type")]).toMatchObject([
      200,
      expect.stringContaining(type),
    ]);
  }
});

test("/version of a delivery names the end of support", async () => {
  const netrc = readFileSync(join(data, "netrc"), "utf8");
  const [, login, password] = /login (\S+)\s+password (\S+)/.exec(netrc) ?? [];
  const port = /^LOCAL_PORT=(.+)/m.exec(readFileSync(join(data, "config.txt"), "utf8"))?.[1];
  const headers = { authorization: `Basic ${btoa(`${login}:${password}`)}` };
  const answer = await fetch(`http://localhost:${port}/version`, { headers });
  expect(await answer.json()).toMatchObject([{ supportedUntil: "2099-12-31" }]);
});

test("a delivery is small, and has no file of another platform", () => {
  expect(statSync(archive).size).toBeLessThan(60 * MB);
  const files = readdirSync(version, { recursive: true, encoding: "utf8" });
  const bytes = [...files.map((file) => join(version, file)), runtime()]
    .map((file) => statSync(file))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
  expect(bytes).toBeLessThan(160 * MB);
  expect(files).toContain(join("programs", "fleet-broker.js"));
  const binaries = files.filter((file) => file.endsWith(".node"));
  expect(binaries).toHaveLength(2);
  expect(binaries.filter((file) => !file.includes(platform))).toEqual([]);
});

test("the verify program of a release accepts it, as one of test values", async () => {
  const verify = (...args: string[]) =>
    runToEnd("sh", [join(folder, "out", "verify-release.sh"), ...args, archive]);
  const { stdout } = await verify("--test-values");
  expect(stdout).toContain(`${archiveName} is genuine: 2 signatures (needed: 2)`);
  await expect(verify()).rejects.toMatchObject({ stderr: expect.stringContaining("TEST VALUES") });
  const root = readFileSync(join(version, "trusted-root.json"));
  const fingerprint = createHash("sha256").update(root).digest("hex");
  for (const file of [join(folder, "out", "RELEASE.txt"), join(version, "SECURITY.md")]) {
    expect(readFileSync(file, "utf8")).toMatch(/test values/i);
    expect(readFileSync(file, "utf8")).toContain(fingerprint);
  }
});

const sha256 = (file: string): string =>
  createHash("sha256").update(readFileSync(file)).digest("hex");

const runtimeName = (): string => readFileSync(join(version, "runtime"), "utf8").trim();

function runtime(): string {
  return join(root, "runtimes", runtimeName(), "node");
}

const readJson = (file: string) => JSON.parse(readFileSync(join(version, file), "utf8"));

let sources: readonly string[] | undefined;

/** The sources of all programs, as the source maps name them. */
function sourcesInMaps(): readonly string[] {
  const maps = readdirSync(join(version, "programs")).filter((file) => file.endsWith(".map"));
  sources ??= maps.flatMap((map): string[] => readJson(join("programs", map)).sources);
  return sources;
}

/** The packages whose code is in a delivery, as its files have them: not from the lock file. */
function packagesInFiles(): string[] {
  const folder = /^\.\.\/(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)/;
  const bundled = sourcesInMaps().flatMap((source) => folder.exec(source)?.[1] ?? []);
  const outside = readdirSync(join(version, "node_modules"), { recursive: true, encoding: "utf8" })
    .filter((file) => /(^|\/)(@[^/]+\/)?[^/@]+\/package\.json$/.test(file))
    .filter((file) => "version" in readJson(join("node_modules", file)))
    .map((file) => `node_modules/${file.slice(0, -"/package.json".length)}`);
  // Pages load a file of these two, which no source map names.
  const ofPages = ["node_modules/htm", "node_modules/uplot"];
  return [...new Set([...bundled, ...outside, ...ofPages])].toSorted();
}

test("the parts list and the licences of a delivery name every package in it", () => {
  const { components } = readJson("sbom.cdx.json");
  const libraries = components.filter(({ type }: { type: string }) => type === "library");
  const refs = libraries.map((each: { "bom-ref": string }) => each["bom-ref"]);
  expect(refs.toSorted()).toEqual(packagesInFiles());
  expect(refs).not.toContain("node_modules/vitest");
  const licences = readFileSync(join(version, "THIRD-PARTY.txt"), "utf8");
  for (const { name } of libraries) expect(licences).toContain(`${name} `);
  expect(licences).toContain(`node-${platform} `);
  const files = components.filter(({ type }: { type: string }) => type === "file");
  const hashes = files.map(({ name, hashes }: Component) => [name, hashes?.[0]?.content]);
  const all = readdirSync(version, { recursive: true, encoding: "utf8" })
    .filter((file) => statSync(join(version, file)).isFile())
    .filter((file) => !["complete", "sbom.cdx.json", "openvex.json"].includes(file));
  expect(hashes).toEqual(all.toSorted().map((file) => [file, sha256(join(version, file))]));
});

interface Component {
  readonly type: string;
  readonly "bom-ref": string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly cpe?: string;
  readonly supplier?: { readonly name: string };
  readonly hashes?: ReadonlyArray<{ readonly alg: string; readonly content: string }>;
  readonly components?: readonly Component[];
}

/** A name of CPE 2.3 as a formatted string (NIST IR 7695, 6.2). */
const value = String.raw`(\*|-|(\w|[-.]|\\[^\w\s])+)`;
const cpeForm = new RegExp(`^cpe:2\\.3:[aho]:${value}:${value}:${value}(:${value}){7}$`);
const purlForm = /^pkg:(npm\/(%40[\w.-]+\/)?|generic\/)[\w.-]+@[\w.+-]+$/;

test("a scanner can match the parts list: names, versions, one tree, suppliers, hashes", () => {
  const list = readJson("sbom.cdx.json");
  expect(list).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6" });
  expect(list.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  const flat = (each: Component): Component[] => [each, ...(each.components ?? []).flatMap(flat)];
  const all: Component[] = [list.metadata.component, ...list.components].flatMap(flat);
  const refs = new Set(all.map((each) => each["bom-ref"]));
  expect(refs.size).toBe(all.length);
  const edges: ReadonlyArray<{ ref: string; dependsOn: string[] }> = list.dependencies;
  expect(
    edges.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]).filter((ref) => !refs.has(ref)),
  ).toEqual([]);
  const needs = new Map(edges.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set<string>();
  const reach = (ref: string): void => {
    if (reached.has(ref)) return;
    reached.add(ref);
    for (const needed of needs.get(ref) ?? []) reach(needed);
  };
  reach("product");
  const parts = all.filter(({ type }) => type !== "file");
  expect(parts.filter((each) => !reached.has(each["bom-ref"]))).toEqual([]);
  expect(needs.get("product")).not.toContain("node_modules/avvio"); // fastify's, not ours
  expect(needs.get("node_modules/fastify")).toContain("node_modules/avvio");
  for (const { purl, cpe, version: number = "" } of parts) {
    expect(purl).toMatch(purlForm);
    expect(purl?.endsWith(`@${number}`)).toBe(true);
    if (cpe !== undefined) expect(cpe).toMatch(cpeForm);
  }
  const node = list.components.find(({ type }: Component) => type === "platform");
  const { node: number, openssl } = process.versions;
  expect(node).toMatchObject({
    purl: `pkg:generic/node@${number}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${number}:*:*:*:*:*:*:*`,
    hashes: [{ alg: "SHA-256", content: expect.stringContaining(runtimeName()) }],
  });
  const cpes = node.components.map(({ cpe }: Component) => cpe);
  expect(cpes).toContain(`cpe:2.3:a:openssl:openssl:${openssl}:*:*:*:*:*:*:*`);
  const top: Component[] = list.components.filter(({ type }: Component) => type !== "file");
  expect(top.filter(({ supplier }) => !supplier?.name)).toEqual([]);
  const digits: Readonly<Record<string, number>> = { "SHA-256": 64, "SHA-512": 128 };
  const hashes = list.components.flatMap((each: Component) => each.hashes ?? [{}]);
  for (const { alg, content } of hashes) {
    expect(content).toMatch(new RegExp(`^[0-9a-f]{${digits[alg]}}$`));
  }
});

test("the statements on vulnerabilities are about parts of the delivery", () => {
  const { metadata, components } = readJson("sbom.cdx.json");
  const document = readJson("openvex.json");
  expect(document["@context"]).toBe("https://openvex.dev/ns/v0.2.0");
  expect(document["@id"]).toMatch(/^urn:uuid:/);
  expect(document).toMatchObject({ author: "security@publisher.invalid", version: 1 });
  expect(new Date(document.timestamp).toISOString()).toBe(document.timestamp);
  expect(document.statements.length).toBeGreaterThan(0); // the format allows no empty list
  const purls = new Set(components.map(({ purl }: Component) => purl));
  const ids = new Set<string>();
  for (const { vulnerability, products, status, justification } of document.statements) {
    ids.add(vulnerability.name);
    expect(vulnerability.name).toMatch(/^CVE-\d{4}-\d{4,}$/);
    expect(products[0]["@id"]).toBe(metadata.component.purl);
    for (const part of products[0].subcomponents) expect(purls).toContain(part["@id"]);
    expect(["fixed", "not_affected"]).toContain(status);
    expect(justification === undefined).toBe(status === "fixed");
  }
  expect(ids.size).toBe(document.statements.length);
});

test("a delivery names its publisher, the end of support and its address of updates", () => {
  const delivery = JSON.parse(readFileSync(join(version, "delivery.json"), "utf8"));
  expect(delivery).toMatchObject({ version: "7.8.9", updateUrl: "https://updates.example/" });
  expect(delivery).toMatchObject({ supportedUntil: "2099-12-31", testValues: true });
  expect(Date.parse(delivery.builtAt)).toBeGreaterThan(Date.UTC(2026, 0, 1));
  for (const page of ["README.md", "SECURITY.md"]) {
    const text = readFileSync(join(version, page), "utf8");
    expect(text).toContain("Version 7.8.9 is supported until **2099-12-31**");
    expect(text).toContain("security@publisher.invalid");
  }
  expect(readFileSync(join(version, "CHANGELOG.md"), "utf8")).toContain("## [Unreleased]");
  const example = readFileSync(join(root, "data", "config.example.txt"), "utf8");
  expect(example).toContain("\nUPDATE_URL=https://updates.example/\n");
});

test("an archive says nothing of its builder: neither umask, owner, order, time nor path", () => {
  const lines = listing.split("\n").filter((line) => line.startsWith("-"));
  const entries = lines.map((line) => /^(\S+) (\S+) +\d+ (\S+ \S+) (.+)$/.exec(line) ?? []);
  const paths = entries.map(([, , , , path = ""]) => path);
  expect(paths).toEqual(paths.toSorted());
  const { builtAt } = JSON.parse(readFileSync(join(version, "delivery.json"), "utf8"));
  const time = builtAt.slice(0, 19).replace("T", " ");
  const expected = paths.map((path) => {
    const isRun = /(\.sh|\/node)$/.test(path);
    return [isRun ? "-rwxr-xr-x" : "-rw-r--r--", "0/0", time, path];
  });
  expect(entries.map((entry) => entry.slice(1))).toEqual(expected);
  const fromHere = /^(\.\.\/(src|node_modules|scripts\/delivery)\/|\0?rolldown\/)[^.]/;
  expect(sourcesInMaps().filter((source) => !fromHere.test(source))).toEqual([]);
});

test("the provenance of a release names its commit, lock file, tools and command", () => {
  const text = readFileSync(join(folder, "out", "provenance.json"), "utf8");
  const { _type, subject, predicateType, predicate } = JSON.parse(text);
  expect([_type, predicateType]).toEqual([
    "https://in-toto.io/Statement/v1",
    "https://slsa.dev/provenance/v1",
  ]);
  const sums = readFileSync(join(folder, "out", "SHA256SUMS"), "utf8");
  const [, ofArchive] = new RegExp(`^(.+)  ${archiveName}$`, "m").exec(sums) ?? [];
  expect(subject[0]).toEqual({ name: archiveName, digest: { sha256: ofArchive } });
  expect(subject).toHaveLength(isWhole ? 2 : 1);
  const { buildDefinition, runDetails } = predicate;
  const [sources, lock, keysOfUpdates] = buildDefinition.resolvedDependencies;
  const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: projectRoot });
  expect(sources.digest).toEqual({ gitCommit: commit.toString().trim() });
  expect(lock.digest).toEqual({ sha256: sha256(join(projectRoot, "package-lock.json")) });
  expect(keysOfUpdates.digest).toEqual({ sha256: sha256(keys.root()) });
  expect(buildDefinition.externalParameters.command).toBe(
    "npm run release -- --version 7.8.9 --trusted-root ../root.json " +
      "--contact security@publisher.invalid --supported-until 2099-12-31 " +
      `--update-url https://updates.example/ --platform ${platform} ` +
      `${isWhole ? "" : "--archives-only "}--test-values`,
  );
  expect(runDetails.builder.id).toBe("mailto:security@publisher.invalid");
  expect(runDetails.builder.version).toMatchObject({ node: process.versions.node });
  expect(sums).toContain(`${createHash("sha256").update(text).digest("hex")}  provenance.json\n`);
});

test("a zip archive has the same bytes in every time zone", async () => {
  const source = join(folder, "zip");
  mkdirSync(join(source, "v"), { recursive: true });
  writeFileSync(join(source, "v", "launch.cmd"), "");
  const zone = process.env["TZ"];
  const archives: string[] = [];
  for (const one of ["UTC", "Pacific/Auckland", "America/Lima"]) {
    process.env["TZ"] = one;
    await makeZip(source, "v", join(source, "v.zip"), new Date(Date.UTC(2026, 2, 29, 2, 30)));
    archives.push(readFileSync(join(source, "v.zip")).toString("latin1"));
  }
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
  expect(new Set(archives).size).toBe(1);
});

test.skipIf(!isWhole)("two builds from the same input have the same bytes", async () => {
  const [first, second] = [archive, (await again) ?? ""].map((file) =>
    createHash("sha256").update(readFileSync(file)).digest("hex"),
  );
  expect(second).toBe(first);
});
