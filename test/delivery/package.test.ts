import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { list } from "tar";
import { afterAll, beforeAll, expect, test } from "vitest";
import { debName, makeDeb } from "../../scripts/release/deb.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

/* docs/packages.md: a package of few files; scripts/package-trial.ts installs a real one. */

const top = temporaryFolder(afterAll);
const newFolder = (): string => mkdtempSync(join(top, "part-"));

const made = {
  version: "7.8.9-rc.1",
  contact: "security@publisher.invalid",
  cpu: "arm64",
  date: new Date("2026-01-31T12:00:00Z"),
} as const;

/** Makes a package of a small delivery, whose files got their modes from a umask. */
async function packaged(mode: number): Promise<string> {
  const folder = newFolder();
  const root = join(folder, "delivery");
  for (const [file, executable] of [
    ["versions/7.8.9-rc.1/complete", 0],
    ["versions/7.8.9-rc.1/launch.sh", 0],
    ["runtimes/0123456789abcdef/node", 0o111],
    ["data/config.example.txt", 0],
  ] as const) {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), `${file}\n`);
    chmodSync(join(root, file), mode | executable);
  }
  const deb = join(folder, debName(made));
  await makeDeb(root, join(folder, "work"), deb, made);
  return deb;
}

/** The members of an ar archive. */
function membersOf(file: string): Map<string, Buffer> {
  const archive = readFileSync(file);
  const members = new Map<string, Buffer>();
  for (let at = 8; at < archive.length; ) {
    const head = archive.toString("latin1", at, at + 60);
    const size = Number(head.slice(48, 58));
    members.set(head.slice(0, 16).trim(), archive.subarray(at + 60, at + 60 + size));
    at += 60 + size + (size % 2);
  }
  return members;
}

async function entriesOf(archive: Buffer | undefined) {
  const file = join(newFolder(), "archive.tar.gz");
  writeFileSync(file, archive ?? "");
  const entries: Array<{ readonly path: string; readonly mode: string; readonly uid: number }> = [];
  await list({
    file,
    onReadEntry: ({ path, mode = 0, uid = 0 }) => {
      entries.push({ path, mode: mode.toString(8), uid });
    },
  });
  const text = (path: string): string =>
    execFileSync("tar", ["xzOf", file, path], { encoding: "utf8" });
  return { entries, text };
}

let deb: string;
let members: Map<string, Buffer>;
let data: Awaited<ReturnType<typeof entriesOf>>;
let control: Awaited<ReturnType<typeof entriesOf>>;
beforeAll(async () => {
  deb = await packaged(0o600);
  members = membersOf(deb);
  data = await entriesOf(members.get("data.tar.gz"));
  control = await entriesOf(members.get("control.tar.gz"));
});

test("a package has its three members in order, and names version and architecture", () => {
  expect(deb).toMatch(/\/terminal-connector_7\.8\.9-rc\.1_arm64\.deb$/);
  expect([...members.keys()]).toEqual(["debian-binary", "control.tar.gz", "data.tar.gz"]);
  expect(String(members.get("debian-binary"))).toBe("2.0\n");
  const fields = control.text("./control");
  expect(fields).toContain("Version: 7.8.9~rc.1\nArchitecture: arm64\n");
  expect(fields).toContain("Maintainer: The publisher <security@publisher.invalid>\n");
});

test("everything in it is root's, and nobody else can write it; it has no conffile", () => {
  const all = [...data.entries, ...control.entries];
  expect(all.filter(({ uid, mode }) => uid !== 0 || !/^(644|755)$/.test(mode))).toEqual([]);
  const executable = data.entries.filter(({ path, mode }) => mode === "755" && !path.endsWith("/"));
  expect(executable.map(({ path }) => path)).toEqual([
    "./usr/bin/terminal-connector",
    "./usr/lib/terminal-connector/launch.sh",
    "./usr/lib/terminal-connector/runtimes/0123456789abcdef/node",
  ]);
  const names = data.entries.map(({ path }) => path);
  expect(names.filter((path) => /\/(etc|var)\//.test(path))).toEqual([]);
  expect(names).toContain("./usr/lib/terminal-connector/versions/7.8.9-rc.1/complete");
  expect(control.entries.map(({ path }) => path)).not.toContain("./conffiles");
});

test("the same files give the same package, whatever the umask that made them", async () => {
  const hash = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");
  expect(hash(await packaged(0o664))).toBe(hash(deb));
});

test("shellcheck finds no fault in its scripts", (context) => {
  if (spawnSync("shellcheck", ["--version"]).error) context.skip("shellcheck is not installed");
  const folder = newFolder();
  const scripts = ["postinst", "prerm", "postrm"].map((name) => [name, control.text(`./${name}`)]);
  scripts.push(["launch.sh", data.text("./usr/lib/terminal-connector/launch.sh")]);
  for (const [name = "", text = ""] of scripts) writeFileSync(join(folder, name), text);
  const sources = join(projectRoot, "scripts/delivery");
  const args = ["-x", "-P", sources, ...scripts.map(([name = ""]) => join(folder, name))];
  const { stdout, status } = spawnSync("shellcheck", args, { encoding: "utf8" });
  expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
});

test("its unit runs root's launch.sh as the service user, with an exposure of 2.2", (context) => {
  const unit = data.text("./usr/lib/systemd/system/terminal-connector.service");
  expect(unit).toContain("\nUser=terminal-connector\n");
  expect(unit).toContain("\nExecStart=/usr/lib/terminal-connector/launch.sh --foreground\n");
  expect(unit).not.toContain("{");
  const file = join(newFolder(), "terminal-connector.service");
  writeFileSync(file, unit);
  const args = ["security", "--offline=true", "--threshold=22", "--no-pager", file];
  const checked = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  if (checked.error) context.skip("systemd-analyze is not installed");
  if (/unrecognized option/.test(checked.stderr)) context.skip("systemd-analyze is too old");
  expect(checked, checked.stdout).toMatchObject({ status: 0 });
});
