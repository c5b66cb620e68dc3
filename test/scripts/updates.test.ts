import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { notesIn, withPublisher, wrongPublisher } from "../../scripts/release/publisher.ts";
import { makeKey, openKey, readPublicKey } from "../../scripts/updates/keys.ts";
import { addRelease, setShare, withdraw } from "../../scripts/updates/releases.ts";
import { Repository } from "../../scripts/updates/repository.ts";
import { addSignatures, begin, refresh, rotate } from "../../scripts/updates/trust.ts";
import { verify } from "../../scripts/updates/verify.ts";
import { versionNumber } from "../../src/shared/program/installation.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { chosenRelease } from "../../src/update/offer-policy.ts";
import { releasesIn } from "../../src/update/release.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runToEnd } from "../support/programs/own-processes.ts";

const PASSPHRASE = "correct horse battery";

/** A folder with keys of three persons and of the machine that is online. */
function publisher() {
  const folder = temporaryFolder();
  const file = (name: string): string => join(folder, name);
  for (const name of ["anna", "ben", "cleo", "snap", "time"]) makeKey(file(name), PASSPHRASE);
  const pub = (...names: string[]): string[] => names.map((name) => `${file(name)}.pub`);
  const keys = (...names: string[]) => names.map((name) => openKey(file(name), PASSPHRASE));
  const repository = new Repository(join(folder, "web"));
  const said: string[] = [];
  const print = (line: string): void => void said.push(line);
  return { folder, file, pub, keys, repository, said, print };
}
type Publisher = ReturnType<typeof publisher>;

function begun(): Publisher {
  const one = publisher();
  begin(one.repository, {
    keys: {
      root: one.pub("anna", "ben"),
      targets: one.pub("anna", "ben"),
      snapshot: one.pub("snap"),
      timestamp: one.pub("time"),
    },
    thresholds: { root: 2, targets: 2 },
  });
  return one;
}

function published(): Publisher {
  const one = begun();
  addSignatures(one.repository, one.keys("anna", "ben"), one.print);
  refresh(one.repository, one.keys("snap", "time"), one.print);
  one.said.length = 0;
  return one;
}

/** What the release leaves when it is unpacked. */
function delivery(version: string, more: object = {}, runtime = "0123456789abcdef"): string {
  const folder = temporaryFolder();
  const facts = { version, platform: "linux-x64", ...more };
  const files = {
    [`versions/${version}/delivery.json`]: JSON.stringify(facts),
    [`versions/${version}/CHANGELOG.md`]: `# Changelog\n\n## [${version}]\n\n- quicker\n`,
    [`versions/${version}/runtime`]: `${runtime}\n`,
    [`versions/${version}/programs/supervisor.js`]: `console.log("${version}");`,
    [`versions/${version}/complete`]: `${version}\n`,
    [`runtimes/${runtime}/node`]: "elf",
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

async function added(one: Publisher, version: string, share = 100): Promise<void> {
  await addRelease(one.repository, {
    from: delivery(version),
    channel: "stable",
    share,
    follows: "0.0.0",
    notBefore: "2026-01-01T00:00:00Z",
    notes: "",
  });
}

function signedAndPublished(one: Publisher): void {
  addSignatures(one.repository, one.keys("anna", "ben"), one.print);
  refresh(one.repository, one.keys("snap", "time"), one.print);
}

async function verified(one: Publisher): Promise<string[]> {
  const lines: string[] = [];
  const root = join(one.repository.folder, "metadata", "1.root.json");
  await verify(one.repository, root, (line) => lines.push(line));
  return lines;
}

/** The version that a kiosk takes. */
function takenBy(one: Publisher, version: string, offered: string[] = []): string | undefined {
  const { targets = {} } = one.repository.published("targets")?.signed ?? {};
  const releases = releasesIn(Object.values(targets), (line) => expect.fail(line));
  const kiosk = { installation: "k", platform: "linux-x64", channel: "stable", barred: [] };
  const nowMs = Date.now();
  return chosenRelease(releases, { ...kiosk, version, offered, nowMs })?.version;
}

/** What a command works on. */
interface Site {
  readonly repository: Repository;
  readonly print: (line: string) => void;
}

describe("the whole life of a repository, by its commands", () => {
  let web: string;
  let tool: (...args: string[]) => Promise<string>;

  beforeAll(() => {
    const folder = temporaryFolder((remove) => remove === undefined);
    web = join(folder, "web");
    tool = async (...args) => {
      const env = { ...process.env, UPDATES_PASSPHRASE: PASSPHRASE };
      const script = join(projectRoot, "scripts", "updates.ts");
      const options = { cwd: folder, env };
      const ended = await runToEnd(process.execPath, [script, ...args], options).catch(
        (error: { stdout: string; stderr: string }) => error,
      );
      return ended.stdout + ended.stderr;
    };
    return () => rmSync(folder, { recursive: true, force: true });
  });

  /** Steps whose command the test has called already, in this process. */
  async function here(...steps: Array<(site: Site) => void | Promise<void>>): Promise<string> {
    const lines: string[] = [];
    const print = (line: string): void => void lines.push(line);
    for (const step of steps) await step({ repository: new Repository(web), print });
    return lines.join("\n");
  }
  const keyAt = (name: string): string => join(web, "..", name);
  const keys = (...names: string[]) => names.map((name) => openKey(keyAt(name), PASSPHRASE));
  const signing = ({ repository, print }: Site): void =>
    addSignatures(repository, keys("anna", "ben"), print);
  const refreshing = ({ repository, print }: Site): void =>
    refresh(repository, keys("snap", "time"), print);
  const verifying = ({ repository, print }: Site): Promise<void> =>
    verify(repository, join(web, "metadata", "1.root.json"), print);

  test("from the first key to a withdrawal, read by a client", async () => {
    expect(await tool("key", "anna", "--p256")).toBe("anna.pub\n");
    for (const key of ["ben", "snap", "time"]) makeKey(keyAt(key), PASSPHRASE);
    const persons = ["anna.pub", "ben.pub"].flatMap((file) => ["--root", file, "--targets", file]);
    const online = ["--snapshot", "snap.pub", "--timestamp", "time.pub"];
    expect(await tool("init", web, ...persons, ...online)).toContain("are staged");
    expect(await tool("sign", web, "--key", "anna")).toContain("was signed by 1/2 keys");
    const refreshArgs = ["refresh", web, "--key", "snap", "--key", "time"] as const;
    expect(await tool(...refreshArgs)).toContain("never published");
    expect(await here(signing)).toContain("targets: has all its signatures");
    expect(await tool(...refreshArgs)).toContain("published: root 1, targets 1, timestamp 1");
    const add = ["add", web, "--from", delivery("1.1.0"), "--channel", "stable", "--share", "100"];
    expect(await tool(...add, "--notes", "first")).toContain("staged: programs/1.1.0/linux-x64");
    expect(await tool("sign", web, "--key", "anna", "--key", "ben")).toContain("has all");
    expect(await here(refreshing)).toContain("published: root 1, targets 2, timestamp 2");
    const lines = await tool("verify", web);
    expect(lines).toContain("stable, linux-x64: 1.1.0 (100 %)");
    expect(lines).toMatch(/timestamp 2: holds 1[34] days more\n/);
    expect(await tool("withdraw", web, "--version", "1.1.0")).toContain("is staged");
    expect(await here(signing)).toContain("has all");
    expect(await here(refreshing)).toContain("targets 3");
    expect(await here(verifying)).toContain("stable, linux-x64: nothing");
    const misread = await tool("sign", web, "--key", "anna", "ben");
    expect(misread).toContain("wrong arguments: ");
    expect(misread).toContain("npm run updates -- init DIR");
  });
});

describe("signatures", () => {
  test("count once for each key, however often it signs", () => {
    const one = begun();
    addSignatures(one.repository, one.keys("anna", "anna"), one.print);
    addSignatures(one.repository, one.keys("anna"), one.print);
    expect(one.said.at(-1)).toContain("was signed by 1/2 keys");
    expect(() => refresh(one.repository, one.keys("snap", "time"), one.print)).toThrow("never");
    expect(readdirSync(one.repository.folder)).toEqual(["staged"]);
  });

  test("of a key that may not sign are refused", () => {
    const one = begun();
    expect(() => addSignatures(one.repository, one.keys("cleo", "snap"), one.print)).toThrow(
      "nothing is staged that these keys may sign",
    );
  });

  test("are lost when what is staged changes", async () => {
    const one = published();
    await added(one, "1.1.0");
    addSignatures(one.repository, one.keys("anna", "ben"), one.print);
    setShare(one.repository, "1.1.0", "stable", 10, false);
    refresh(one.repository, one.keys("snap", "time"), one.print);
    expect(one.said.at(-1)).toContain("targets 1,");
    expect(takenBy(one, "1.0.0")).toBeUndefined();
  });

  test("no key has two ids, and no key of the online machine signs for persons", () => {
    const one = publisher();
    const role = { snapshot: one.pub("snap"), timestamp: one.pub("time") };
    const thresholds = { root: 1, targets: 1 };
    const withKeys = (root: string[], targets: string[]) => () =>
      begin(one.repository, { keys: { root, targets, ...role }, thresholds });
    expect(withKeys(one.pub("anna", "anna"), one.pub("anna"))).toThrow("has this key twice");
    expect(withKeys(one.pub("anna"), one.pub("snap"))).toThrow("must not sign root or targets");
    expect(withKeys([], one.pub("anna"))).toThrow("root has 0 keys for a threshold of 1");
    const edited = JSON.parse(readFileSync(`${one.file("anna")}.pub`, "utf8"));
    writeFileSync(`${one.file("anna")}.pub`, JSON.stringify({ ...edited, keyid: "00" }));
    expect(() => readPublicKey(`${one.file("anna")}.pub`)).toThrow("is no public key");
  });
});

describe("keys", () => {
  test("are encrypted, readable by their owner alone, and never overwritten", () => {
    const { file } = publisher();
    expect(readFileSync(file("anna"), "utf8")).toContain("BEGIN ENCRYPTED PRIVATE KEY");
    expect(() => openKey(file("anna"), "another passphrase")).toThrow("does not open");
    expect(() => makeKey(file("anna"), PASSPHRASE)).toThrow("is there already");
    expect(() => makeKey(file("new"), "short")).toThrow("at least 12 characters");
    expect(openKey(file("anna"), PASSPHRASE).id).toBe(readPublicKey(`${file("anna")}.pub`).keyID);
  });

  test("of the online roles change by a root that persons sign", async () => {
    const one = published();
    await added(one, "1.1.0");
    makeKey(one.file("time2"), PASSPHRASE);
    rotate(one.repository, { role: "timestamp", added: one.pub("time2"), removed: [] }, one.print);
    addSignatures(one.repository, one.keys("anna", "ben"), one.print);
    expect(() => refresh(one.repository, one.keys("snap", "time"), one.print)).toThrow(
      "no key for timestamp is given",
    );
    refresh(one.repository, one.keys("snap", "time2"), one.print);
    expect(one.said.at(-1)).toContain("published: root 2, targets 2");
    expect(await verified(one)).toContainEqual(expect.stringContaining("root 2: holds"));
  });

  test("of targets change together with the list that they sign", async () => {
    const one = published();
    await added(one, "1.1.0");
    signedAndPublished(one);
    const [role, added2] = ["targets" as const, one.pub("cleo")];
    rotate(one.repository, { role, added: added2, removed: one.pub("ben") }, one.print);
    addSignatures(one.repository, one.keys("anna", "ben"), one.print);
    expect(() => refresh(one.repository, one.keys("snap", "time"), one.print)).toThrow(
      "nothing is published: targets was signed by 1/2 keys",
    );
    expect(one.repository.published("root")?.signed.version).toBe(1);
    addSignatures(one.repository, one.keys("cleo"), one.print);
    refresh(one.repository, one.keys("snap", "time"), one.print);
    expect(await verified(one)).toContainEqual("stable, linux-x64: 1.1.0 (100 %)");
  });

  test("of root change with signatures of the old and of the new ones", async () => {
    const one = published();
    const change = { role: "root", added: one.pub("cleo"), removed: one.pub("anna") } as const;
    rotate(one.repository, change, one.print);
    addSignatures(one.repository, one.keys("ben", "cleo"), one.print);
    refresh(one.repository, one.keys("snap", "time"), one.print);
    expect(one.repository.published("root")?.signed.version).toBe(1);
    addSignatures(one.repository, one.keys("anna"), one.print);
    refresh(one.repository, one.keys("snap", "time"), one.print);
    expect(one.repository.published("root")?.signed.version).toBe(2);
    expect(await verified(one)).toContainEqual(expect.stringContaining("root 2: holds"));
  });

  test("that are removed must exist, and enough keys must stay", () => {
    const one = published();
    const change = (removed: string[], threshold?: number) => () =>
      rotate(one.repository, { role: "root", added: [], removed, threshold }, one.print);
    expect(change(one.pub("cleo"))).toThrow("root has no key");
    expect(change(one.pub("anna"))).toThrow("root has 1 keys for a threshold of 2");
  });
});

describe("releases", () => {
  test("reach more kiosks step by step, another channel, nobody when withdrawn", async () => {
    const one = published();
    await added(one, "1.1.0", 0);
    signedAndPublished(one);
    expect(takenBy(one, "1.0.0")).toBeUndefined();
    setShare(one.repository, "1.1.0", "stable", 100, false);
    setShare(one.repository, "1.1.0", "beta", 50, true);
    signedAndPublished(one);
    expect(takenBy(one, "1.0.0")).toBe("1.1.0");
    expect(await verified(one)).toContainEqual(
      expect.stringMatching(/^beta, linux-x64: 1.1.0 \((4|5)/),
    );
    withdraw(one.repository, "1.1.0");
    signedAndPublished(one);
    expect(takenBy(one, "1.0.0", ["1.1.0"])).toBeUndefined();
    expect(() => setShare(one.repository, "9.9.9", "stable", 1, false)).toThrow("no release 9.9.9");
    expect(() => setShare(one.repository, "1.1.0", "beta", 1, true)).toThrow(
      "already on the channel",
    );
  });

  test("lead back to an older one only when it is marked", async () => {
    const one = published();
    await added(one, "1.1.0");
    await added(one, "1.2.0");
    withdraw(one.repository, "1.2.0");
    signedAndPublished(one);
    expect(takenBy(one, "1.2.0")).toBeUndefined();
    withdraw(one.repository, "1.2.0", "1.1.0");
    signedAndPublished(one);
    expect(takenBy(one, "1.2.0")).toBe("1.1.0");
    expect(takenBy(one, "1.1.0")).toBeUndefined();
  });

  test("share their runtime, never change, and hold only what a kiosk unpacks", async () => {
    const one = published();
    await added(one, "1.1.0");
    await added(one, "1.2.0");
    const paths = Object.keys(one.repository.staged("targets")?.signed.targets ?? {});
    expect(paths.filter((path) => path.startsWith("runtimes/"))).toHaveLength(1);
    await expect(added(one, "1.1.0")).rejects.toThrow("a version never changes");
    const bad = delivery("1.3.0");
    writeFileSync(join(bad, "versions/1.3.0/aux.js"), "");
    const addition = { channel: "stable", share: 1, follows: "0.0.0", notes: "" };
    const notBefore = "2026-01-01T00:00:00Z";
    const adding = addRelease(one.repository, { from: bad, notBefore, ...addition });
    await expect(adding).rejects.toThrow("a path that may lead elsewhere");
  });

  test("have the end of support, and as notes their section of the changelog", async () => {
    const one = published();
    const offer = { channel: "stable", share: 1, follows: "0.0.0" };
    const add = (more: object, given: object = {}) =>
      addRelease(one.repository, {
        from: delivery("1.1.0", { supportedUntil: "2031-12-31", ...more }),
        notBefore: "2026-01-01T00:00:00Z",
        ...offer,
        ...given,
      });
    await expect(add({ testValues: true })).rejects.toThrow("was built with --test-values");
    await add({ testValues: true }, { testValues: true });
    const { targets = {} } = one.repository.staged("targets")?.signed ?? {};
    const [release] = releasesIn(Object.values(targets), (line) => expect.fail(line));
    expect(release).toMatchObject({ notes: "- quicker", supportedUntil: "2031-12-31" });
  });

  test("that were changed on the web server are found by verify", async () => {
    const one = published();
    await added(one, "1.1.0");
    signedAndPublished(one);
    const folder = join(one.repository.folder, "targets/programs/1.1.0");
    const [name = ""] = readdirSync(folder);
    writeFileSync(join(folder, name), "poison");
    await expect(verified(one)).rejects.toThrow("ends after 6 bytes");
  });
});

describe("the publisher of a delivery", () => {
  const builtMs = Date.parse("2026-12-01T10:00:00Z");
  const right = { contact: "security@kiosk.shop", supportedUntil: "2031-12-31", testValues: false };
  const root = { version: 1, fingerprint: "0123abcd" };
  const wrong = (change: object) => wrongPublisher({ ...right, ...change }, builtMs);

  test("has a contact that can be reached, and a day of support after the build", () => {
    expect([wrong({}), wrong({ contact: "https://kiosk.shop/security" })]).toEqual(["", ""]);
    for (const contact of ["Otto", "http://kiosk.shop", "a b@c.shop"])
      expect(wrong({ contact })).toContain("--contact must be");
    for (const supportedUntil of ["2026-12-01", "2031-13-01", "2031", "31.12.2031"])
      expect(wrong({ supportedUntil })).toContain("--supported-until must be");
  });

  test.each(["security@example.org", "https://publisher.invalid/x", "otto@localhost.test"])(
    "is %s only with test values, and the page says so",
    (contact) => {
      expect(wrong({ contact })).toContain("belongs to nobody");
      expect(wrong({ contact, testValues: true })).toBe("");
      const page = readFileSync(join(projectRoot, "SECURITY.md"), "utf8");
      const text = withPublisher(page, "1.2.3", { ...right, contact, testValues: true }, root);
      expect(text).toContain("**Test values: nobody keeps them.");
      expect(text).toContain(contact);
    },
  );

  test("stands in README and SECURITY.md in the place of a checkout's sentence", () => {
    for (const name of ["README.md", "SECURITY.md"]) {
      const page = readFileSync(join(projectRoot, name), "utf8");
      const text = withPublisher(page, "1.2.3", right, root);
      expect(page).toContain("This is a checkout of the sources.");
      expect(text).not.toContain("This is a checkout");
      expect(text).toContain("Version 1.2.3 is supported until **2031-12-31**");
      expect(text).toContain("fingerprint of its root keys, version 1, is `0123abcd`.");
    }
    expect(() => withPublisher("# Page\n", "1.2.3", right, root)).toThrow("a page has no part");
  });

  test("finds the notes of its version in the changelog, and no longer ones", () => {
    const changelog = `# A\n\n## [1.2.30]\n\nx\n\n## [1.2.3] - 2026-12-01\n\n### Fixed\n\n- a\n`;
    expect(notesIn(changelog, "1.2.3")).toBe("### Fixed\n\n- a");
    expect(notesIn(changelog, "1.2.4")).toBeUndefined();
    const long = `## [1.2.3]\n\n${"x".repeat(2001)}\n`;
    expect(() => notesIn(long, "1.2.3")).toThrow("has 2001 characters: at most 2000");
    const own = readFileSync(join(projectRoot, "CHANGELOG.md"), "utf8");
    expect(notesIn(own, versionNumber)).toContain("### Added");
    expect(notesIn(own, "Unreleased")).toBeDefined();
  });
});
