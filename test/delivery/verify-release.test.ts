import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filledVerifier, releaseNotes } from "../../scripts/release/publisher.ts";
import { releaseRoot, signSums, writeSums } from "../../scripts/release/sums.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { ReleaseKeys } from "../support/files/release-folder.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { Publisher } from "../support/programs/publisher.ts";

/* The real shell program, on a machine that has nothing but sh, openssl and sha256sum. */

const ARCHIVE = "terminal-connector-1.2.3-linux-x64.tar.gz";
const program = join(projectRoot, "scripts/delivery/verify-release.sh");
const publisher = { contact: "a@b.shop", supportedUntil: "2031-12-31", testValues: false };
const home = temporaryFolder(afterAll);
const tools = join(home, "tools");
const signed = join(home, "signed");
let keys: ReleaseKeys;
let fingerprint: string;

beforeAll(() => {
  mkdirSync(tools);
  for (const tool of ["sh", "openssl", "sha256sum"]) {
    symlinkSync(execFileSync("which", [tool]).toString().trim(), join(tools, tool));
  }
  mkdirSync(join(home, "keys"));
  keys = new ReleaseKeys(join(home, "keys"));
  ({ fingerprint } = releaseRoot(keys.root()));
  const root = readFileSync(keys.root(), "utf8");
  keys.release(signed, { [ARCHIVE]: "programs", "root.json": root }, "anna", "ben");
});

/** A copy of the signed release, changed by `change`. */
function changed(change: (at: (name: string) => string) => void): string {
  const folder = join(temporaryFolder(), "release");
  cpSync(signed, folder, { recursive: true });
  change((name) => join(folder, name));
  return folder;
}

function verified(folder: string, args = ["--fingerprint", fingerprint], script = program) {
  const command = [script, ...args, join(folder, ARCHIVE)];
  const ended = spawnSync("sh", command, { env: { PATH: tools }, encoding: "utf8" });
  return { code: ended.status, text: ended.stdout + ended.stderr };
}
const refused = (text: string) => ({ code: 1, text: expect.stringContaining(text) });
const signatureOf = (name: string): string => {
  const [key] = keys.of(name);
  return `SHA256SUMS.${key?.id.slice(0, 16)}.sig`;
};

test("a release with the signatures of two persons is verified, from any folder", () => {
  const text = `${ARCHIVE} is genuine: 2 signatures (needed: 2), root metadata 1\n`;
  expect(verified(signed)).toEqual({ code: 0, text: `${text}fingerprint ${fingerprint}\n` });
  const here = ["-c", `cd ${signed} && sh ${program} --fingerprint ${fingerprint} ${ARCHIVE}`];
  expect(spawnSync("sh", here, { env: { PATH: tools } }).status).toBe(0);
  for (const shell of ["dash", "bash"]) {
    const { error, status } = spawnSync(shell, here);
    expect([undefined, 0]).toContain(error ? undefined : status);
  }
});

describe("refused is", () => {
  test("a changed archive", () => {
    const folder = changed((at) => appendFileSync(at(ARCHIVE), "poison"));
    expect(verified(folder)).toEqual(refused("was changed: its hash is not the signed one"));
  });

  test("a missing signature, and one of a key that may not sign or of other hashes", () => {
    const [ben, cleo] = [signatureOf("ben"), signatureOf("cleo")];
    const without = changed((at) => rmSync(at(ben)));
    expect(verified(without)).toEqual(refused("has 1 valid signatures, and needs 2"));
    const twice = changed((at) => copyFileSync(at(signatureOf("anna")), at(ben)));
    expect(verified(twice)).toEqual(refused("has 1 valid signatures, and needs 2"));
    const stranger = changed((at) => renameSync(at(ben), at(cleo)));
    expect(verified(stranger)).toEqual(refused("has 1 valid signatures, and needs 2"));
    const none = changed((at) => rmSync(at("SHA256SUMS")));
    expect(verified(none)).toEqual(refused("SHA256SUMS is missing"));
  });

  test("an old root, and another root than that of the fingerprint", () => {
    keys.replaceBen();
    const second = releaseRoot(keys.root(2));
    expect(second.version).toBe(2);
    const knows = join(home, "second.sh");
    writeFileSync(knows, filledVerifier(readFileSync(program, "utf8"), publisher, second));
    expect(verified(signed, [], knows)).toEqual(
      refused("root.json is version 1, older than version 2 of this program"),
    );
    expect(verified(signed, ["--fingerprint", fingerprint], knows)).toEqual(
      refused(`this program came with the fingerprint ${second.fingerprint}`),
    );
    const swapped = changed((at) => copyFileSync(keys.root(2), at("root.json")));
    expect(verified(swapped)).toEqual(refused(`the fingerprint ${second.fingerprint}, and not`));
    const ofOld = changed((at) => copyFileSync(keys.root(2), at("root.json")));
    expect(verified(ofOld, [], knows)).toEqual(refused("has 1 valid signatures, and needs 2"));
  });

  test("a list that does not name the archive, or has a line more", () => {
    const renamed = changed((at) => renameSync(at(ARCHIVE), at("other.tar.gz")));
    expect(verified(renamed)).toEqual(refused(`${ARCHIVE} is missing`));
    const [line = ""] = readFileSync(join(signed, "SHA256SUMS"), "utf8").split("\n");
    const extra = changed((at) => appendFileSync(at("SHA256SUMS"), `${line}x\n`));
    expect(verified(extra)).toEqual(refused("has 0 valid signatures, and needs 2"));
    const cut = changed((at) => writeFileSync(at("SHA256SUMS"), line));
    expect(verified(cut)).toEqual(refused("has no end of its last line"));
  });

  test.each([
    ["", "SHA256SUMS has a line that is no hash of a file"],
    [`${"0".repeat(64)}  other.tar.gz\n`, `SHA256SUMS does not name ${ARCHIVE}`],
    [`${"0".repeat(64)}  ${ARCHIVE}\nhello\n`, "has a line that is no hash of a file: hello"],
    [`${"0".repeat(64)}  ../${ARCHIVE}\n`, "has a line that names no file"],
    [`${"0".repeat(64)}\n`, "has a line that names no file"],
    [`${`${"0".repeat(64)}  ${ARCHIVE}\n`.repeat(2)}`, `SHA256SUMS names ${ARCHIVE} twice`],
  ])("a list %j, even when persons sign it", (list, text) => {
    const folder = changed((at) => {
      writeFileSync(at("SHA256SUMS"), list);
      for (const key of keys.of("anna", "ben")) {
        const { sig } = key.sign(Buffer.from(list));
        writeFileSync(at(`SHA256SUMS.${key.id.slice(0, 16)}.sig`), Buffer.from(sig, "hex"));
      }
    });
    expect(verified(folder)).toEqual(refused(text));
  });

  test("a root of another form, and a call without a fingerprint", () => {
    const folder = changed((at) => {
      const root = JSON.parse(readFileSync(at("root.json"), "utf8"));
      writeFileSync(at("root.json"), `${JSON.stringify(root)}\n`);
    });
    expect(verified(folder)).toEqual(refused("is none that"));
    const usage = { code: 64, text: expect.stringContaining("usage: sh verify-release.sh") };
    expect(verified(signed, [])).toEqual(usage);
    expect(verified(signed, ["--fingerprint", "12"])).toEqual(usage);
    expect(verified(signed, ["--quick"])).toEqual(usage);
  });
});

test("the program of a release knows its fingerprint, and test values are marked", () => {
  const root = releaseRoot(keys.root());
  const text = readFileSync(program, "utf8");
  const [real, made] = [join(home, "real.sh"), join(home, "test.sh")];
  writeFileSync(real, filledVerifier(text, publisher, root));
  const tried = { ...publisher, testValues: true };
  writeFileSync(made, filledVerifier(text, tried, root));
  expect(verified(signed, [], real)).toEqual({
    code: 0,
    text: expect.stringContaining("Compare the fingerprint"),
  });
  expect(verified(signed, [], made)).toEqual(refused("TEST VALUES: nobody keeps the keys"));
  const taken = verified(signed, ["--test-values"], made);
  expect(taken).toEqual({ code: 0, text: expect.stringContaining("install nothing of this") });
  expect(releaseNotes("1.2.3", publisher, root, "- quicker")).toContain(fingerprint);
  expect(releaseNotes("1.2.3", publisher, root, undefined)).not.toContain("TEST VALUES");
  expect(releaseNotes("1.2.3", tried, root, undefined)).toContain("TEST VALUES: nobody keeps");
});

describe("hashes of a release", () => {
  test("count each person once, and lose their signatures when a file comes", () => {
    const folder = join(temporaryFolder(), "release");
    keys.release(folder, { [ARCHIVE]: "a", "root.json": readFileSync(keys.root(), "utf8") });
    const lines: string[] = [];
    signSums(folder, keys.of("anna", "anna"), (line) => lines.push(line));
    signSums(folder, keys.of("ben"), (line) => lines.push(line));
    writeSums(folder);
    signSums(folder, [], (line) => lines.push(line));
    writeFileSync(join(folder, "later.deb"), "deb");
    expect(() => signSums(folder, keys.of("ben"), () => {})).toThrow(
      "is not the list of the files",
    );
    writeSums(folder);
    signSums(folder, keys.of("ben"), (line) => lines.push(line));
    const [one, two] = ["1 of 2 signatures, more are needed", "2 of 2 signatures"];
    expect(lines).toEqual([one, two, two, one].map((text) => `SHA256SUMS: ${text}`));
    expect(() => signSums(folder, keys.of("cleo"), () => {})).toThrow(
      "is no key of the role targets",
    );
    writeFileSync(join(folder, "a b"), "x");
    expect(() => writeSums(folder)).toThrow("is no file of a release");
  });

  test("are not signed by keys that not every system can check", () => {
    const folder = temporaryFolder();
    const publisher = new Publisher(join(folder, "publisher"));
    expect(() => releaseRoot(publisher.trustedRoot)).toThrow(
      "of the role targets are no P-256 keys",
    );
    const text = readFileSync(keys.root(), "utf8");
    writeFileSync(join(folder, "root.json"), text.replaceAll("\n", "\r\n"));
    expect(() => releaseRoot(join(folder, "root.json"))).toThrow("has not the form");
  });
});
