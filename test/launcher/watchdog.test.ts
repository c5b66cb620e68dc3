import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import { beatWatchdog } from "../../src/launcher/commands/foreground.ts";
import { createOutput } from "../../src/launcher/output.ts";
import type { Program } from "../../src/shared/ipc/contract.ts";
import { claimAddress, ipcToken, openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";

const folder = temporaryFolder(afterAll);
afterEach(() => void vi.unstubAllEnvs());
const beatsFile = join(folder, "beats");
const beats = (): number =>
  existsSync(beatsFile) ? readFileSync(beatsFile, "utf8").split("\n").length - 1 : 0;

/** A program that answers as long as `isWell` says so. */
async function program(name: Program, run: string, isWell: () => boolean, body: object) {
  const server = createServer((request, response) => {
    if (!isWell()) return void request.socket.destroy();
    const about = { program: name, version: "0.0.1", pid: 1, uptimeMs: 1 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...about, ...body }));
  });
  await new Promise<void>((resolve) => server.listen(claimAddress(run, name), resolve));
  onTestFinished(() => void server.close());
}

test("no watchdog beat is sent while a program is silent, unless an update runs", async () => {
  const installation = installationAt(join(folder, "data"));
  const run = openRunDirectory(installation.dataDirectory);
  ipcToken(run);
  const own = join(folder, "systemd-notify");
  writeFileSync(own, `#!/bin/sh\necho "$1" >> "${beatsFile}"\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"]}`);
  vi.stubEnv("NOTIFY_SOCKET", "/run/notify");
  vi.stubEnv("WATCHDOG_USEC", "80000");
  let checks = 0;
  let supervisorAnswers = true;
  let isAtWork = false;
  const terminal = { link: "connected", problem: null, terminalId: "1", status: "ready" };
  const payments = { running: 0, inDoubt: 0, notHandedOver: 0 };
  await program("tp-manager", run, () => ++checks > 0, { terminal, payments, port: 1 });
  const outbox = { pending: 0, parked: 0, sent: 0, oldestAgeMs: null, paused: null };
  await program("supervisor", run, () => supervisorAnswers, { outbox });

  const over = new AbortController();
  const site = { ...installation, clock: systemClock, output: createOutput() };
  const watching = beatWatchdog(site, () => isAtWork, over.signal);
  await until("beats", () => beats() >= 2 || undefined);
  expect(readFileSync(beatsFile, "utf8")).toMatch(/^WATCHDOG=1\n/);

  supervisorAnswers = false;
  const silentSince = checks;
  await until("checks", () => checks > silentSince + 1 || undefined);
  const before = beats();
  await until("more checks", () => checks > silentSince + 4 || undefined);
  expect(beats()).toBe(before);

  isAtWork = true;
  await until("beats of an update", () => beats() > before || undefined);
  over.abort();
  await watching;
});

test("without a watching service manager no beat is sent", async () => {
  vi.stubEnv("NOTIFY_SOCKET", "/run/notify");
  vi.stubEnv("WATCHDOG_USEC", undefined);
  const installation = installationAt(join(folder, "data"));
  const site = { ...installation, clock: systemClock, output: createOutput() };
  await expect(
    beatWatchdog(site, () => true, new AbortController().signal),
  ).resolves.toBeUndefined();
});
