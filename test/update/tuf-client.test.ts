import { describe, expect, test } from "vitest";
import { isWhole } from "../support/run/scope.ts";
import { inDays, type KeyKind, newSigner, TestRepository } from "./test-repository.ts";
import { kioskAt, ways } from "./tuf-kiosk.ts";

/** A proxy's every answer is a handshake of TLS, so that it gets these rows in the whole scope. */
const waysHere = isWhole ? ways : ways.filter((way) => !way.startsWith("a proxy"));

const topLevel = ["targets", "snapshot", "timestamp"] as const;

describe("metadata are brought up to date", () => {
  test("in the order of TUF, byte by byte as they were published", async () => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository);
    expect(kiosk.trusted()).toBe("root 1");
    repository.published.set("timestamp", [
      Buffer.concat([
        repository.published.get("timestamp")?.[0] ?? Buffer.alloc(0),
        Buffer.from(" "),
      ]),
    ]);
    expect(await kiosk.refresh()).toBeUndefined();
    expect(repository.asked).toEqual(["root 2", "timestamp", "snapshot 1", "targets 1"]);
    for (const [role, [bytes]] of repository.published) {
      expect(kiosk.metadata(`${role}.json`).equals(bytes ?? Buffer.alloc(0)), role).toBe(true);
    }
    expect(await kiosk.refresh()).toBeUndefined();
    expect(repository.asked.slice(4)).toEqual(["root 2", "timestamp"]);
    expect(kiosk.alarms).toEqual([]);
  });

  test("without consistent snapshots by plain names, targets too", async () => {
    const repository = new TestRepository();
    repository.signed["root"].consistent_snapshot = false;
    repository.addTarget("a/b c.txt", Buffer.from("one"));
    repository.publish("root", ...topLevel);
    const kiosk = await kioskAt(repository);
    expect(await kiosk.download("a/b c.txt")).toBeUndefined();
    expect(repository.asked).toEqual(["root 2", "root 3", "timestamp", "snapshot", "targets"]);
    expect(repository.askedTargets).toEqual(["a/b c.txt"]);
    expect(kiosk.downloaded()).toEqual({ "a/b c.txt": "one" });
  });

  test("also when the target does not exist", async () => {
    const kiosk = await kioskAt(new TestRepository());
    expect(await kiosk.download("nothing")).toContain("no-target: the signed metadata name no");
    expect(kiosk.trusted()).toBe("root 1, snapshot 1, targets 1, timestamp 1");
  });

  test("with lengths and hashes, and with unknown fields", async () => {
    const repository = new TestRepository();
    repository.publishesHashes = true;
    repository.signed["root"].unknown = { a: [1, "b", null, true] };
    repository.addSigner("root", newSigner("ed25519", { extra: { a: 1 } }));
    repository.publish("root", ...topLevel);
    const kiosk = await kioskAt(repository);
    expect(await kiosk.refresh()).toBeUndefined();
    repository.publish("targets");
    repository.signed["snapshot"].version += 1;
    repository.signed["snapshot"].meta["targets.json"] = {
      version: 3,
      hashes: { sha256: "00".repeat(32) },
    };
    repository.publishAsIs("snapshot");
    repository.publish("timestamp");
    expect(await kiosk.refresh()).toContain("metadata-refused: ");
    expect(kiosk.trusted()).toBe("root 2, snapshot 3, targets 2, timestamp 3");
  });

  test.each(["ed25519", "ecdsa", "rsa"] as const)("with keys of %s", async (kind: KeyKind) => {
    const repository = new TestRepository();
    repository.addSigner("root", newSigner(kind));
    repository.signed["root"].roles.root.threshold = 2;
    repository.publish("root");
    const kiosk = await kioskAt(repository);
    expect(await kiosk.refresh()).toBeUndefined();
    repository.publish("root");
    repository.edit("root", ({ signatures }) => {
      signatures[1].sig = newSigner(kind).sign(Buffer.from("something else"));
    });
    expect(await kiosk.refresh()).toBe(
      "metadata-refused: metadata are refused: root was signed by 1/2 keys",
    );
    expect(kiosk.trusted()).toContain("root 2");
  });

  test("also when one more signature is wrong or empty", async () => {
    const repository = new TestRepository();
    repository.addSigner("timestamp");
    repository.publish("root", "timestamp");
    repository.edit("timestamp", ({ signatures }) => {
      signatures[0].sig = "";
    });
    const kiosk = await kioskAt(repository);
    expect(await kiosk.refresh()).toBeUndefined();
  });
});

describe.each(ways)("by %s metadata are refused, and what was before stays trusted", (way) => {
  const cases = [
    ["root", "root 1"],
    ["timestamp", "root 2"],
    ["snapshot", "root 2, timestamp 2"],
    ["targets", "root 2, snapshot 2, timestamp 2"],
  ] as const;

  test.each(cases)("unsigned %s", async (role, trusted) => {
    const repository = new TestRepository();
    repository.signers.set(role, []);
    repository.publish("root", ...topLevel);
    const kiosk = await kioskAt(repository, way);
    expect(await kiosk.refresh()).toContain("metadata-refused: ");
    expect(kiosk.trusted()).toBe(trusted);
  });

  test.each(cases)("missing %s", async (role, trusted) => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository, way);
    if (role === "root") return expect(await kiosk.refresh()).toBeUndefined();
    repository.publish("root", ...topLevel);
    repository.published.set(role, []);
    const reason =
      way === "a folder" ? /is missing|nothing is there/ : /^http-status: nothing is there: /;
    expect(await kiosk.refresh()).toMatch(reason);
    expect(kiosk.trusted()).toBe(trusted);
  });

  test.each([
    ["root", "root 1"],
    ["snapshot", "root 1, timestamp 2"],
    ["targets", "root 1, snapshot 2, timestamp 2"],
  ])("%s of another version than its name says", async (role, trusted) => {
    const repository = new TestRepository();
    repository.publish(...(role === "root" ? ["root"] : topLevel));
    repository.signed[role].version += 1;
    const wrong = repository.sign(repository.signed[role], repository.signers.get(role) ?? []);
    repository.published.get(role)?.splice(-1, 1, wrong);
    const kiosk = await kioskAt(repository, way);
    expect(await kiosk.refresh()).toContain("metadata-refused: ");
    expect(kiosk.trusted()).toBe(trusted);
  });

  test("a snapshot in the place of a timestamp", async () => {
    const repository = new TestRepository();
    repository.addSigner("snapshot", repository.signers.get("timestamp")?.[0]);
    repository.publish("root", "snapshot");
    repository.published.set("timestamp", [repository.published.get("snapshot")?.[1] as Buffer]);
    const kiosk = await kioskAt(repository, way);
    expect(await kiosk.refresh()).toContain("expected 'timestamp'");
    expect(kiosk.trusted()).toBe("root 2");
  });

  test("one signature listed several times", async () => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository, way);
    repository.edit("snapshot", ({ signatures }) => signatures.push(signatures[0]));
    expect(await kiosk.refresh()).toContain("metadata-refused: ");
    expect(kiosk.trusted()).toBe("root 1, timestamp 1");
  });

  test("a threshold above the number of keys", async () => {
    const repository = new TestRepository();
    repository.signed["root"].roles.snapshot.threshold = 3;
    repository.addSigner("snapshot");
    repository.publish("root", "snapshot", "timestamp");
    const kiosk = await kioskAt(repository, way);
    expect(await kiosk.refresh()).toContain("snapshot was signed by 2/3 keys");
    expect(kiosk.trusted()).toBe("root 2, timestamp 2");
  });

  test.each(["no version", "signature of another"])("a trusted root with %s", async (fault) => {
    const repository = new TestRepository();
    repository.edit("root", ({ signed, signatures }) => {
      if (fault === "no version") delete signed.version;
      else signatures[0].sig = newSigner().sign(Buffer.from("another"));
    });
    const kiosk = await kioskAt(repository, way);
    expect(await kiosk.refresh()).toContain("metadata-refused: ");
    expect(repository.asked).toEqual([]);
  });
});

describe.each(waysHere)("by %s roots follow one another", (way) => {
  interface Version {
    readonly keys: readonly number[];
    readonly threshold: number;
    readonly sigs: readonly number[];
  }
  const version = (keys: number[], threshold: number, sigs: number[]): Version => {
    return { keys, threshold, sigs };
  };
  const all = [0, 1, 2, 3, 4];
  const good: [string, Version[]][] = [
    ["another key", [version([1], 1, [1]), version([2], 1, [2, 1]), version([2], 1, [2])]],
    ["signatures of strangers", [version([1], 1, [3, 1, 4]), version([2], 1, [3, 2, 1, 4])]],
    ["any three of five", [version(all, 3, [0, 2, 4]), version(all, 3, [0, 1, 3])]],
    ["all keys at once", [version(all, 3, [0, 2, 4]), version([5, 6, 7], 3, [0, 2, 4, 5, 6, 7])]],
    ["a higher threshold", [version([1, 2, 3], 1, [1]), version([1, 2, 3], 2, [1, 2])]],
    ["a lower threshold", [version([1, 2, 3], 2, [1, 2]), version([1, 2, 3], 1, [1, 2])]],
  ];
  const bad: [string, Version[]][] = [
    ["no old key", [version([1], 1, [1]), version([2], 1, [2, 3, 4])]],
    ["no new key", [version([1], 1, [1]), version([2], 1, [1, 3, 4])]],
    ["two of three old keys", [version(all, 3, [0, 2, 4]), version([0, 1, 3, 4, 5], 3, [0, 4, 5])]],
    ["the new threshold missed", [version([1, 2, 3], 1, [1]), version([1, 2, 3], 2, [2])]],
    ["the old threshold missed", [version([1, 2, 3], 2, [1, 2]), version([1, 2, 3], 1, [1])]],
  ];

  async function follow(versions: readonly Version[]) {
    const repository = new TestRepository();
    const signers = Array.from({ length: 8 }, () => newSigner());
    repository.published.set("root", []);
    versions.forEach(({ keys, threshold, sigs }, i) => {
      repository.signed["root"].version = i + 1;
      repository.signed["root"].roles.root = { keyids: [], threshold };
      for (const key of keys) repository.addKey("root", signers[key] as (typeof signers)[0]);
      repository.signers.set(
        "root",
        sigs.map((sig) => signers[sig] as (typeof signers)[0]),
      );
      repository.publishAsIs("root");
    });
    const kiosk = await kioskAt(repository, way);
    return { refusal: await kiosk.refresh(), kiosk, roots: repository.published.get("root") ?? [] };
  }

  test.each(good)("with %s", async (_, versions) => {
    const { refusal, kiosk, roots } = await follow(versions);
    expect(refusal).toBeUndefined();
    expect(kiosk.metadata("root.json").equals(roots.at(-1) as Buffer)).toBe(true);
  });

  test.each(bad)("but not with %s", async (_, versions) => {
    const { refusal, kiosk, roots } = await follow(versions);
    expect(refusal).toContain("metadata-refused: metadata are refused: root was signed by");
    expect(kiosk.metadata("root.json").equals(roots.at(-2) as Buffer)).toBe(true);
  });

  test("through a hundred versions at once, and revoke keys of other roles", async () => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository, way);
    for (let i = 0; i < 100; i++) repository.publish("root");
    repository.rotate("timestamp");
    repository.publish("root", "timestamp");
    expect(await kiosk.refresh()).toBeUndefined();
    expect(kiosk.trusted()).toBe("root 102, snapshot 1, targets 1, timestamp 2");
  });
});

describe.each(waysHere)("by %s older metadata are refused", (way) => {
  test("an older timestamp, replayed", async () => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository, way);
    repository.publish("timestamp");
    expect(await kiosk.refresh()).toBeUndefined();
    repository.published.get("timestamp")?.pop();
    expect(await kiosk.refresh()).toContain("version 1 is less than current version 2");
    expect(kiosk.trusted()).toContain("timestamp 2");
  });

  test("a timestamp of the same version with another content is ignored", async () => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository, way);
    expect(await kiosk.refresh()).toBeUndefined();
    repository.signed["timestamp"].meta["snapshot.json"].version = 100;
    repository.publishAsIs("timestamp");
    expect(await kiosk.refresh()).toBeUndefined();
    if (way !== "a folder") expect(repository.asked.at(-1)).toBe("timestamp");
    expect(JSON.parse(kiosk.metadata("timestamp.json").toString()).signed.meta).toEqual({
      "snapshot.json": { version: 1 },
    });
  });

  test.each([false, true])("an older snapshot or targets file, hashes %s", async (hashes) => {
    const repository = new TestRepository();
    repository.publishesHashes = hashes;
    repository.publish(...topLevel);
    const kiosk = await kioskAt(repository, way);
    expect(await kiosk.refresh()).toBeUndefined();
    const meta = repository.signed["snapshot"].meta["targets.json"];
    repository.signed["snapshot"].version = 3;
    repository.signed["snapshot"].meta["targets.json"] = { ...meta, version: 1 };
    repository.publishAsIs("snapshot");
    repository.publish("timestamp");
    expect(await kiosk.refresh()).toContain("New version 1 of targets.json is less than");
    repository.signed["snapshot"].version = 1;
    repository.publish("timestamp");
    expect(await kiosk.refresh()).toContain("New snapshot version 1 is less than");
    expect(kiosk.trusted()).toBe("root 1, snapshot 2, targets 2, timestamp 3");
  });

  test.each(["timestamp", "snapshot"])("but not after new keys of %s", async (role) => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository, way);
    repository.signed[role].version = 100;
    if (role === "snapshot") {
      repository.published.set(role, Array(100).fill(repository.published.get(role)?.[0]));
    }
    repository.publish("snapshot", "timestamp");
    expect(await kiosk.refresh()).toBeUndefined();
    repository.rotate("snapshot");
    repository.rotate("timestamp");
    repository.signed[role].version = 1;
    repository.published.set("snapshot", []);
    repository.publishAsIs("snapshot");
    repository.signed["snapshot"].version = 0;
    repository.publish("snapshot");
    repository.published.get("snapshot")?.shift();
    repository.signed["timestamp"].version = 0;
    repository.publish("timestamp", "root");
    expect(await kiosk.refresh()).toBeUndefined();
    expect(kiosk.trusted()).toBe("root 2, snapshot 1, targets 1, timestamp 1");
  });
});

describe("metadata expire", () => {
  test.each([
    ["root", "root 2, snapshot 1, targets 1, timestamp 1"],
    ["timestamp", "root 1, snapshot 1, targets 1, timestamp 1"],
    ["snapshot", "root 1, snapshot 1, targets 1, timestamp 2"],
    ["targets", "root 1, snapshot 2, targets 1, timestamp 2"],
  ])("%s that has expired ends the update with a clear line", async (role, trusted) => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository);
    expect(await kiosk.refresh()).toBeUndefined();
    repository.signed[role].expires = inDays(-1);
    repository.publish(...(role === "root" ? ["root"] : topLevel));
    const refusal = await kiosk.refresh();
    expect(refusal).toMatch(
      /^metadata-expired: at 20[^ ]+Z the metadata have expired: [\w. ]+ is expired$/,
    );
    expect(refusal).toContain(`${role}.json is expired`);
    expect(kiosk.trusted()).toBe(trusted);
  });

  test("own metadata that have expired still protect and lead to newer ones", async () => {
    const repository = new TestRepository();
    const kiosk = await kioskAt(repository);
    repository.signed["timestamp"].expires = inDays(7);
    repository.publish("timestamp");
    expect(await kiosk.refresh()).toBeUndefined();
    kiosk.daysAhead = 18;
    expect(await kiosk.refresh()).toContain("metadata-expired: ");
    repository.signed["timestamp"].expires = inDays(21);
    repository.publish(...topLevel);
    expect(await kiosk.refresh()).toBeUndefined();
    expect(kiosk.trusted()).toBe("root 1, snapshot 2, targets 2, timestamp 3");
  });
});
