import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { checkForUpdate } from "../../src/update/check-for-update.ts";
import { folderAddress, openFolderFile } from "../../src/update/folder-source.ts";
import { changeState, readReady, readState } from "../../src/update/update-state.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { DAY_MS, Fleet } from "./test-fleet.ts";
import { inDays } from "./test-repository.ts";

/* docs/updates.md 4.8: a folder in place of the server, by the same rules. */

type CheckSettings = Parameters<typeof checkForUpdate>[0];

/** An installation, and a stick with what its publisher has published. */
class Visit {
  readonly fleet = new Fleet();
  readonly stick = temporaryFolder();

  async begin(version = "1.1.0"): Promise<this> {
    await this.fleet.begin();
    this.fleet.offer({ version });
    this.fleet.repository.writeTo(this.stick);
    return this;
  }

  at(name: string): string {
    return join(this.stick, name);
  }

  /** The file of the programs on the stick. */
  get programs(): string {
    const folder = this.at("targets/programs/1.1.0");
    return join(folder, readdirSync(folder)[0] ?? "");
  }

  async take(more: Partial<CheckSettings> = {}) {
    const medium = folderAddress(this.stick);
    return await this.fleet.check("fetch", { medium, url: medium, ...more });
  }

  /** Refused, and nothing is installed or to be installed. */
  async refused(line: RegExp, more: Partial<CheckSettings> = {}): Promise<void> {
    await expect(this.take(more)).rejects.toThrow(line);
    expect(this.fleet.versions()).toEqual(["1.0.0"]);
    expect(readReady(this.fleet.data)).toBeUndefined();
  }
}

test("a version is taken from a folder, through a link to it, and no server is asked", async () => {
  const visit = await new Visit().begin();
  const link = join(temporaryFolder(), "media");
  symlinkSync(visit.stick, link);
  const medium = folderAddress(link);
  const found = await visit.take({ medium, url: medium, caFile: "/not/there.pem" });
  expect(found).toMatchObject({ version: "1.1.0", isReady: true });
  expect(visit.fleet.versions()).toEqual(["1.0.0", "1.1.0"]);
  expect(visit.fleet.repository.asked).toEqual([]);
  expect(readState(visit.fleet.data)).toMatchObject({ checkedMs: null, fault: null });
  expect(readState(visit.fleet.data).freshMs).not.toBeNull();
});

test("a failure at a folder says nothing about the server", async () => {
  const visit = await new Visit().begin();
  rmSync(visit.at("metadata"), { recursive: true });
  await visit.refused(/nothing is there: .*metadata\/timestamp.json is missing/);
  expect(readState(visit.fleet.data)).toMatchObject({ checkedMs: null, fault: null });
  expect(() => folderAddress(visit.at("nowhere"))).toThrow("is not a folder that can be read");
  expect(() => folderAddress(visit.programs)).toThrow("is not a folder that can be read");
});

describe("metadata that have expired", () => {
  async function old(): Promise<Visit> {
    const visit = await new Visit().begin();
    const { repository } = visit.fleet;
    repository.signed["timestamp"].expires = inDays(-6);
    repository.publish("timestamp");
    repository.writeTo(visit.stick);
    return visit;
  }
  const accepts = { acceptsExpired: () => Promise.resolve(true) };

  test("are used only if the operator accepts it, and never make metadata fresh", async () => {
    const visit = await old();
    const asked: number[] = [];
    const acceptsExpired = (ms: number) => Promise.resolve(asked.push(ms) < 0);
    await visit.refused(/the metadata have expired: timestamp.json is expired/, { acceptsExpired });
    expect(Math.round((Date.now() - (asked[0] ?? 0)) / DAY_MS)).toBe(6);
    await visit.refused(/metadata have expired/);
    expect(await visit.take(accepts)).toMatchObject({ version: "1.1.0", isReady: true });
    expect(readState(visit.fleet.data).freshMs).toBeNull();
  });

  test.each(["targets", "root"])("of the role %s are used in no case", async (role) => {
    const visit = await old();
    const { repository } = visit.fleet;
    repository.signed[role].expires = inDays(-1);
    repository.publish(...(role === "root" ? ["root"] : ["targets", "snapshot", "timestamp"]));
    repository.writeTo(visit.stick);
    await visit.refused(new RegExp(`${role}.json is expired`), accepts);
  });

  test("never lead to a version below one that has run here", async () => {
    const visit = await old();
    const barred = [{ version: "1.2.0", why: "an operator went back", atMs: 1 }];
    changeState(visit.fleet.data, () => ({ barred }));
    expect((await visit.take(accepts)).version).toBeUndefined();
    const { repository } = visit.fleet;
    repository.signed["timestamp"].expires = inDays(3);
    repository.publish("timestamp");
    repository.writeTo(visit.stick);
    expect((await visit.take(accepts)).version).toBe("1.1.0");
  });

  test("never lead back, where a publisher has marked a way back", async () => {
    const visit = await old();
    const { repository } = visit.fleet;
    visit.fleet.offer({ version: "1.1.0", more: { withdrawn: true } });
    visit.fleet.offer({ version: "0.9.0", more: { replaces: ["1.0.0", "1.1.0"] } });
    repository.writeTo(visit.stick);
    expect((await visit.take(accepts)).version).toBeUndefined();
    repository.signed["timestamp"].expires = inDays(3);
    repository.publish("timestamp");
    repository.writeTo(visit.stick);
    expect((await visit.take(accepts)).version).toBe("0.9.0");
  });
});

describe("refused is a folder", () => {
  test("with older metadata than the installation has, also when they are accepted", async () => {
    const visit = await new Visit().begin();
    visit.fleet.offer({ version: "1.2.0" });
    await visit.fleet.check("ask");
    const acceptsExpired = () => Promise.resolve(true);
    await visit.refused(/timestamp version 2 is less than current version 3/, { acceptsExpired });
  });

  test("with an older root, or one that the known root has not signed", async () => {
    const visit = await new Visit().begin();
    const { repository } = visit.fleet;
    const first = repository.published.get("root")?.[0] ?? Buffer.alloc(0);
    writeFileSync(visit.at("metadata/2.root.json"), first);
    await visit.refused(/metadata are refused: .*version/i);
    repository.rotate("root");
    repository.publish("root");
    const [, second] = repository.published.get("root") ?? [];
    writeFileSync(visit.at("metadata/2.root.json"), second ?? "");
    await visit.refused(/metadata are refused: root was signed by 0\/1 keys/);
  });

  test("without a role, mixed from two states, or with another hash of a target", async () => {
    const visit = await new Visit().begin();
    const snapshot = visit.at("metadata/2.snapshot.json");
    renameSync(snapshot, `${snapshot}.away`);
    await visit.refused(/2\.snapshot\.json is missing/);
    writeFileSync(snapshot, readFileSync(visit.at("metadata/1.snapshot.json")));
    await visit.refused(/metadata are refused: .*version/i);
    renameSync(`${snapshot}.away`, snapshot);
    writeFileSync(
      visit.at("metadata/2.targets.json"),
      readFileSync(visit.at("metadata/1.targets.json")),
    );
    await visit.refused(/metadata are refused: .*does not match snapshot version/);
    visit.fleet.repository.writeTo(visit.stick);
    const bytes = readFileSync(visit.programs);
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    writeFileSync(visit.programs, bytes);
    await visit.refused(/has not the signed sha256: refused/);
  });

  test("whose archive holds another version than is signed", async () => {
    const visit = await new Visit().begin();
    visit.fleet.offer({ version: "1.2.0", holds: "9.9.9" });
    visit.fleet.repository.writeTo(visit.stick);
    await visit.refused(/holds something else: refused/);
  });

  test.each([
    ["withdrawn", { withdrawn: true }],
    ["of another channel", { channels: { beta: 100 } }],
    ["with a share of nothing", { channels: { stable: 0 } }],
    ["of another platform", { platform: "win-x64" }],
    ["that follows a newer version", { follows: "1.0.1" }],
    ["of a later time", { notBefore: inDays(1) }],
  ])("with a version %s, which is not taken", async (_, more) => {
    const visit = await new Visit().begin();
    visit.fleet.offer({ version: "1.1.0", more });
    visit.fleet.repository.writeTo(visit.stick);
    expect((await visit.take()).version).toBeUndefined();
    expect(visit.fleet.versions()).toEqual(["1.0.0"]);
  });

  test("with links, pipes and folders in the place of files", async () => {
    const visit = await new Visit().begin();
    const timestamp = visit.at("metadata/timestamp.json");
    const outside = join(temporaryFolder(), "timestamp.json");
    renameSync(timestamp, outside);
    symlinkSync(outside, timestamp);
    await visit.refused(/timestamp.json is a link: refused/);
    rmSync(timestamp);
    mkdirSync(timestamp);
    await visit.refused(/timestamp.json is no file: refused/);
    rmSync(timestamp, { recursive: true });
    execFileSync("mkfifo", [timestamp]);
    await visit.refused(/timestamp.json is no file: refused/);
    rmSync(timestamp);
    renameSync(visit.at("metadata"), visit.at("elsewhere"));
    symlinkSync(visit.at("elsewhere"), visit.at("metadata"));
    await visit.refused(/metadata is a link: refused/);
  });

  test("with huge files, which are not read, and with cut ones", async () => {
    const visit = await new Visit().begin();
    const before = readFileSync(visit.programs);
    truncateSync(visit.programs, 2 ** 40);
    await visit.refused(/is longer than \d+ bytes: refused/);
    writeFileSync(visit.programs, before.subarray(0, 100));
    await visit.refused(/ends after 100 bytes of \d+: refused/);
    truncateSync(visit.at("metadata/timestamp.json"), 2 ** 40);
    await visit.refused(/is longer than \d+ bytes: refused/);
    expect(existsSync(join(visit.fleet.data, "update", "downloads", ".programs.tar.gz.part"))).toBe(
      false,
    );
  });

  test("whose signed targets lead out of it", async () => {
    const visit = await new Visit().begin();
    const { repository } = visit.fleet;
    const runtime = "../../../etc/linux-x64.tar.gz";
    visit.fleet.offer({ version: "1.1.0", more: { runtime } });
    repository.addTarget(runtime, Buffer.from("x"), "targets", {
      kind: "runtime",
      platform: "linux-x64",
      name: "00112233445566",
    });
    repository.publish("targets", "snapshot", "timestamp");
    repository.targetFiles.delete(runtime);
    repository.writeTo(visit.stick);
    await visit.refused(/leads out of its folder: refused/);
  });

  test.each(["/../x", "/a/../../x", "/%2e%2e/x", "/a%2Fb", "//x", "/a%00b", "", "x"])(
    "asked for its file %j",
    async (path) => {
      const base = folderAddress(temporaryFolder());
      const opened = openFolderFile(base, `${base}${path}`, { lengthMax: 9 });
      await expect(opened).rejects.toThrow("leads out of its folder: refused");
    },
  );
});

test("a file that changes while it is copied is refused, or is the signed one", async () => {
  const visit = await new Visit().begin();
  const base = folderAddress(visit.stick);
  writeFileSync(visit.at("growing"), Buffer.alloc(100_000));
  const { body } = await openFolderFile(base, `${base}/growing`, { lengthMax: 150_000 });
  const read = async (): Promise<void> => {
    for await (const chunk of body) appendFileSync(visit.at("growing"), Buffer.alloc(chunk.length));
  };
  await expect(read()).rejects.toThrow("grew longer than it may be: refused");
  // What is installed is a copy that was verified after it was made.
  await visit.take();
  writeFileSync(visit.programs, "poison");
  const script = join(visit.fleet.root, "versions/1.1.0/programs/supervisor.js");
  expect(readFileSync(script, "utf8")).toContain("1.1.0");
});
