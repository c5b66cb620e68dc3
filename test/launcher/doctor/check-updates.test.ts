import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  checkExpiry,
  checkRoom,
  checkRoot,
  checkServer,
  checkSupport,
} from "../../../src/launcher/doctor/check-updates.ts";
import { systemClock } from "../../../src/shared/time.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { inDays, TestRepository } from "../../update/test-repository.ts";

test("the doctor shows whether the server of updates answers and is renewed", async () => {
  const repository = await new TestRepository().serve();
  const ask = (url = repository.url, UPDATE_CA_FILE?: string) =>
    checkServer(url, { UPDATE_CA_FILE }, systemClock);
  expect(await ask()).toMatchObject({ verdict: "ok" });
  expect((await ask("http://127.0.0.1:1")).says).toContain("ECONNREFUSED");
  repository.signed["timestamp"].expires = inDays(-1);
  repository.publish("timestamp");
  expect(await ask()).toMatchObject({ verdict: "warn", says: expect.stringContaining("expired") });
  repository.answers = (_, response) => Boolean(response.end("hello"));
  expect((await ask()).says).toContain("offers no updates");
  const missing = await ask(undefined, "/not/there.pem");
  expect(missing.says).toContain("/not/there.pem");
  const empty = join(temporaryFolder(), "empty.pem");
  writeFileSync(empty, "");
  const untrusting = await ask(undefined, empty);
  expect(untrusting.says).toContain(`UPDATE_CA_FILE ${empty} holds no certificate`);
});

test("the doctor reports metadata that have expired and a disk without room", () => {
  expect([checkExpiry(null, 5), checkExpiry(6, 5)]).toEqual([[], []]);
  expect(checkExpiry(5, 5)).toMatchObject([{ verdict: "warn" }]);
  const folder = temporaryFolder();
  mkdirSync(join(folder, "version", "programs"), { recursive: true });
  writeFileSync(join(folder, "version", "programs", "a.js"), Buffer.alloc(8_000_000));
  writeFileSync(join(folder, "journal.db"), Buffer.alloc(2_000_000));
  const room = (bytes: number) => checkRoom(folder, join(folder, "version"), bytes);
  expect(room(66_000_000)).toEqual([]);
  expect(room(65_999_999)).toMatchObject([{ says: expect.stringContaining("66 MB are needed") }]);
});

test("the doctor shows the fingerprint of the root keys, where a version has some", () => {
  const folder = temporaryFolder();
  expect(checkRoot(folder)).toEqual([]);
  writeFileSync(join(folder, "trusted-root.json"), "root");
  const fingerprint = "4813494d137e1631bba301d5acab6e7bb7aa74ce1185d456565ef51d737677b2";
  expect(checkRoot(folder)).toMatchObject([{ verdict: "ok" }]);
  expect(checkRoot(folder)[0]?.says).toContain(fingerprint);
});

test("the doctor reports the end of support, half a year before it and after it", () => {
  const publisher = { contact: "security@kiosk.shop", supportedUntil: "2031-12-31" };
  const on = (day: string, of: object = publisher) => checkSupport(of, Date.parse(day));
  expect(on("2031-07-04T23:59:59Z")).toMatchObject([{ code: "support-right", verdict: "ok" }]);
  expect(on("2031-07-05T00:00:01Z")).toMatchObject([{ code: "support-ends", verdict: "warn" }]);
  expect(on("2031-12-31T23:59:59Z")[0]?.says).toContain("ends after 2031-12-31");
  expect(on("2032-01-01T00:00:00Z")).toMatchObject([{ code: "support-ended", verdict: "warn" }]);
  expect(on("2032-01-01T00:00:00Z")[0]?.todo).toContain("security@kiosk.shop");
  const test = { ...publisher, testValues: true };
  expect(on("2031-01-01", test)).toMatchObject([{ code: "support-test", verdict: "warn" }]);
  expect(on("2031-01-01", {})).toEqual([]);
});
