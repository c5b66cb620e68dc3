import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { exitCodes } from "../../src/shared/process/exit-codes.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { selfSignedTls } from "../../src/simulator/gateway/http/self-signed.ts";
import { checkNow, checkText } from "../../src/update/check-for-update.ts";
import {
  changeState,
  putOff,
  readReady,
  readState,
  takeUpdateLock,
  tryUpdateLock,
  whenWanted,
  writeHold,
  writeReady,
} from "../../src/update/update-state.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { DAY_MS, Fleet, NEW_RUNTIME, OLD_RUNTIME } from "./test-fleet.ts";
import { inDays } from "./test-repository.ts";

const cert = String(selfSignedTls(["localhost"], systemClock.now()).cert);

test("a version is unpacked next to the present one, its mark last, then it is ready", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0", runtime: NEW_RUNTIME });
  expect(await fleet.check("ask")).toEqual({ version: "1.1.0", notes: "", isReady: false });
  expect(fleet.versions()).toEqual(["1.0.0"]);
  expect(readReady(fleet.data)).toBeUndefined();
  expect(await fleet.check()).toMatchObject({ version: "1.1.0", isReady: true });
  const folder = join(fleet.root, "versions", "1.1.0");
  expect(readFileSync(join(folder, "programs", "supervisor.js"), "utf8")).toContain("1.1.0");
  expect(existsSync(join(folder, "complete"))).toBe(true);
  const node = join(fleet.root, "runtimes", NEW_RUNTIME, "node");
  expect(statSync(node).mode & 0o111).toBe(0o111);
  expect(readReady(fleet.data)?.version).toBe("1.1.0");
  expect(existsSync(join(fleet.data, "update", "downloads"))).toBe(false);
  expect(fleet.figures()).toMatchObject({ ready: "1.1.0", fault: null, stuck: null });
  expect(fleet.figures().expiresMs).toBeGreaterThan(fleet.clock.now() + 29 * DAY_MS);
});

test("neither an unchanged runtime nor a whole version is downloaded again", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0" });
  await fleet.check();
  await fleet.check();
  const { askedTargets } = fleet.repository;
  expect(askedTargets.map((path) => path.replace(/[0-9a-f]{64}\./, ""))).toEqual([
    "programs/1.1.0/linux-x64.tar.gz",
  ]);
});

test("an unsigned version of the same number gives way to the signed one", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0" });
  const folder = join(fleet.root, "versions", "1.1.0");
  mkdirSync(folder);
  for (const name of ["complete", "own"]) writeFileSync(join(folder, name), "1.1.0\n");
  expect(await fleet.check()).toMatchObject({ version: "1.1.0", isReady: true });
  expect(existsSync(join(folder, "own"))).toBe(false);
  expect(readFileSync(join(folder, "programs", "supervisor.js"), "utf8")).toContain("1.1.0");
});

test("a version that runs from this folder is not replaced under its programs", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0" });
  const folder = join(fleet.root, "versions", "1.1.0");
  mkdirSync(folder);
  for (const name of ["complete", "own"]) writeFileSync(join(folder, name), "1.1.0\n");
  writeFileSync(join(fleet.root, "current"), "1.1.0\n");
  await fleet.check();
  expect(existsSync(join(folder, "own"))).toBe(true);
});

test("an offer outlives a lowered share, but not a withdrawal", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0" });
  await fleet.check("ask");
  fleet.offer({ version: "1.1.0", share: 0 });
  expect((await fleet.check()).version).toBe("1.1.0");
  fleet.offer({ version: "1.1.0", more: { withdrawn: true } });
  expect((await fleet.check()).version).toBeUndefined();
  expect(readReady(fleet.data)).toBeUndefined();
});

test("bars and holds are respected; without an offer no version stays put off", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0" });
  writeHold(fleet.data, { who: "anna", sinceMs: 0, untilMs: fleet.clock.now() + DAY_MS });
  expect(await fleet.check()).toMatchObject({ version: "1.1.0", isReady: false });
  expect(readReady(fleet.data)).toBeUndefined();
  expect(fleet.figures()).toMatchObject({
    heldBy: "anna",
    heldSinceMs: 0,
    heldUntilMs: fleet.clock.now() + DAY_MS,
  });
  fleet.clock.jumpWallClock(DAY_MS);
  expect(await fleet.check()).toMatchObject({ isReady: true });
  changeState(fleet.data, (state) => ({
    barred: [{ version: "1.1.0", why: "it crashed", atMs: 1 }],
    ...putOff(state, "1.1.0", "the terminal was away", 1),
  }));
  expect((await fleet.check()).version).toBeUndefined();
  expect(readState(fleet.data).putOff).toBeNull();
  fleet.offer({ version: "1.2.0" });
  expect((await fleet.check()).version).toBe("1.2.0");
});

test("two versions are kept, and the runtimes that these need", async () => {
  const fleet = await new Fleet().begin();
  for (const path of ["versions/0.8.0/complete", "versions/0.9.0/complete", "runtimes/old/node"]) {
    mkdirSync(dirname(join(fleet.root, path)), { recursive: true });
    writeFileSync(join(fleet.root, path), "x");
  }
  writeFileSync(join(fleet.root, "previous"), "0.9.0\n");
  fleet.offer({ version: "1.1.0" });
  await fleet.check();
  expect(fleet.versions()).toEqual(["0.9.0", "1.0.0", "1.1.0"]);
  expect(readdirSync(join(fleet.root, "runtimes"))).toEqual([OLD_RUNTIME]);
});

test("an archive that holds another version than is signed leaves nothing", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0", holds: "6.6.6" });
  await expect(fleet.check()).rejects.toThrow("holds something else: refused");
  expect(fleet.versions()).toEqual(["1.0.0"]);
  expect(readReady(fleet.data)).toBeUndefined();
});

test("a server that is away is reported after three nights, until a good check", async () => {
  const fleet = await new Fleet().begin();
  const away = { url: "http://127.0.0.1:1" };
  for (const night of [1, 2, 3]) {
    expect(fleet.figures().stuck, `night ${night}`).toBeNull();
    await expect(fleet.check("fetch", away)).rejects.toThrow("cannot be read: ECONNREFUSED");
    expect(fleet.figures().fault).toContain("ECONNREFUSED");
    if (night < 3) fleet.clock.jumpWallClock(DAY_MS - 60_000);
  }
  expect(fleet.figures().stuck?.reason).toContain("ECONNREFUSED");
  expect(fleet.figures(false).stuck).toBeNull();
  await fleet.check();
  expect(fleet.figures()).toMatchObject({ stuck: null, fault: null });
});

test("expired metadata are reported at once, also when the clock was set back", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0" });
  fleet.repository.signed["timestamp"].expires = inDays(-1, Date.UTC(2026, 0, 1));
  fleet.repository.publish("timestamp");
  fleet.clock.jumpWallClock(Date.UTC(2020, 0, 1) - fleet.clock.now());
  await expect(fleet.check()).rejects.toMatchObject({ code: "metadata-expired" });
  expect(fleet.figures().stuck?.reason).toContain("metadata have expired");
  expect(fleet.versions()).toEqual(["1.0.0"]);
});

test("a clock in the past is why there is no newer version, and no version is missed", async () => {
  const fleet = await new Fleet().begin();
  const day = "2026-06-01T00:00:00Z";
  fleet.offer({ version: "1.1.0", more: { notBefore: day } });
  fleet.clock.jumpWallClock(Date.UTC(2020, 0, 1) - fleet.clock.now());
  await expect(fleet.check()).rejects.toMatchObject({
    code: "clock-past",
    message: expect.stringMatching(/clock .* 2020-01-01.* at least 2026-01-01/),
  });
  expect(fleet.figures().fault).toContain("2020-01-01");
  fleet.offer({ version: "1.1.0" });
  expect((await fleet.check()).version).toBe("1.1.0");
});

test("a clock that is earlier than the last good check is named, an hour is not", async () => {
  const fleet = await new Fleet().begin();
  await fleet.check();
  fleet.clock.jumpWallClock(-3_600_000);
  expect((await fleet.check()).version).toBeUndefined();
  fleet.clock.jumpWallClock(-2 * DAY_MS);
  await expect(fleet.check()).rejects.toMatchObject({ code: "clock-past" });
});

test("a version that is offered later is named with its time", async () => {
  const fleet = await new Fleet().begin();
  const notBefore = inDays(3);
  fleet.offer({ version: "1.1.0", more: { notBefore } });
  const found = await fleet.check();
  expect(found.version).toBeUndefined();
  expect(checkText(found)).toContain(`1.1.0 is offered from ${notBefore.slice(0, 10)}`);
  expect(readState(fleet.data).offered).toEqual([]);
});

test("damaged metadata are reported and repaired", async () => {
  const fleet = await new Fleet().begin();
  await fleet.check();
  writeFileSync(join(fleet.data, "update", "metadata", "root.json"), "");
  await fleet.check();
  expect(fleet.alarmed.join()).toContain("damaged");
});

test("without room for a third version and the copies nothing is downloaded", async () => {
  const fleet = await new Fleet().begin();
  fleet.offer({ version: "1.1.0" });
  await expect(fleet.check("fetch", { freeBytes: () => 40_000_000 })).rejects.toMatchObject({
    code: "no-room",
    message: expect.stringMatching(/\d+ MB are needed, 40 MB are free/),
  });
  expect(fleet.repository.askedTargets).toEqual([]);
});

test("a version that waited is forgotten when another one is offered instead", async () => {
  const fleet = await new Fleet().begin();
  writeReady(fleet.data, "1.0.5", 1);
  fleet.offer({ version: "1.1.0" });
  await fleet.check();
  expect(readReady(fleet.data)?.version).toBe("1.1.0");
});

test("a check on a silent line gives way to a program that wants the lock", async () => {
  const fleet = await new Fleet().begin();
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void silent.close());
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const held = tryUpdateLock(fleet.data);
  const over = new AbortController();
  const signal = whenWanted(fleet.data, fleet.clock, over.signal);
  const ended = expect(fleet.check("fetch", { signal, url })).rejects.toThrow("abort");
  await fleet.clock.advance(2_000);
  expect(signal.aborted).toBe(false);
  const waiting = takeUpdateLock(fleet.data, systemClock);
  await fleet.clock.advance(500);
  await ended;
  held?.release();
  over.abort();
  const lock = await waiting;
  expect(lock).toBeDefined();
  lock?.release();
  // This check has neither failed nor been made: the next one continues the download.
  expect(readState(fleet.data)).toMatchObject({ fault: null, checkedMs: null });
});

test("a program that takes a version keeps the lock until it has finished", async () => {
  const fleet = await new Fleet().begin();
  const held = tryUpdateLock(fleet.data);
  const waiting = takeUpdateLock(fleet.data, fleet.clock);
  await fleet.clock.advance(6_000);
  expect(await waiting).toBeUndefined();
  held?.release();
});

test("a file without certificates fails the check, and updates are stuck after three", async () => {
  const fleet = await new Fleet().begin();
  const caFile = join(fleet.root, "ca.pem");
  writeFileSync(caFile, "hello");
  for (let night = 0; night < 3; night++) {
    await expect(fleet.check("fetch", { caFile })).rejects.toMatchObject({
      message: expect.stringContaining(`UPDATE_CA_FILE ${caFile} holds no certificate`),
      exitCode: exitCodes.configuration,
    });
    fleet.clock.jumpWallClock(DAY_MS);
  }
  expect(fleet.figures().stuck?.reason).toContain("holds no certificate");
});

test.each([
  ["an empty", "", "holds no certificate"],
  ["a partly damaged", `${cert}${cert.replace(/\n.{9}/, "\nAAAAAAAAA")}`, "damaged"],
  ["another form of", cert.replace("BEGIN", "BEGIN TRUSTED"), "holds no certificate"],
])("%s file of certificates is warned about, and the check goes on", async (_, text, why) => {
  const fleet = await new Fleet().begin();
  const caFile = join(fleet.root, "ca.pem");
  writeFileSync(caFile, text);
  const warned: string[] = [];
  await fleet.check("fetch", { caFile, warn: (message) => warned.push(message) });
  expect(warned).toEqual([expect.stringContaining(why)]);
  expect(fleet.figures().fault).toBeNull();
});

test("checkNow records the fault of its file", async () => {
  const folder = temporaryFolder();
  const config = { UPDATE_URL: "https://127.0.0.1:1", UPDATE_CHANNEL: "stable" };
  const caFile = { UPDATE_CA_FILE: "/not/there.pem" };
  const report = { alarm: () => {}, warn: () => {} };
  const check = checkNow(installationAt(folder), { ...config, ...caFile }, "ask", report);
  await expect(check).rejects.toMatchObject({ exitCode: exitCodes.configuration });
  expect(readState(folder).fault?.message).toContain("/not/there.pem cannot be read");
});
