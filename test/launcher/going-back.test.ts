import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createOutput } from "../../src/launcher/output.ts";
import {
  idleStatus,
  mayGoBack,
  mayGoBackByItself,
} from "../../src/launcher/update/take-version.ts";
import { claimAddress, ipcToken, openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

function siteWithoutPrograms() {
  return {
    ...installationAt(temporaryFolder()),
    clock: systemClock,
    output: createOutput(),
  };
}

/** Whatever tp-manager answers to one question after the other; undefined: nothing. */
async function tpManager(answers: Array<{ running: number } | undefined>) {
  const site = siteWithoutPrograms();
  const run = openRunDirectory(site.dataDirectory);
  ipcToken(run);
  const server = createServer((request, response) => {
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (!answer) return void request.socket.destroy();
    const terminal = { link: "connected", problem: null, terminalId: "1", status: "ready" };
    const payments = { ...answer, inDoubt: 0, notHandedOver: 0 };
    const about = { program: "tp-manager", version: "0.0.1", pid: 1, uptimeMs: 1, port: 1 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...about, terminal, payments }));
  });
  const address = claimAddress(run, "tp-manager");
  await new Promise<void>((resolve) => server.listen(address, resolve));
  onTestFinished(() => void server.close());
  return site;
}

test("a version does not go back in a payment, also when tp-manager was silent twice", async () => {
  expect(await mayGoBack(await tpManager([{ running: 0 }]))).toBe(true);
  expect(await mayGoBack(await tpManager([{ running: 1 }]))).toBe(false);
  const site = await tpManager([undefined, undefined, { running: 1 }]);
  expect(await mayGoBackByItself(site)).toBe(false);
});

test("a silent tp-manager lets a version go back, a deliberate stop does not", async () => {
  expect(await mayGoBack(await tpManager([undefined]))).toBe(true);
  const site = siteWithoutPrograms();
  expect(await mayGoBackByItself(site)).toBe(true);
  writeFileSync(join(openRunDirectory(site.dataDirectory), "stopped"), "now");
  await expect(mayGoBack(site)).rejects.toThrow("stopped");
  expect(await mayGoBackByItself(site)).toBe(false);
});

test("an unanswered status is asked again, and only an idle tp-manager is switched", async () => {
  const site = await tpManager([undefined, { running: 1 }, { running: 0 }]);
  expect(await idleStatus(site)).toBeUndefined();
  expect(await idleStatus(site)).toBeUndefined();
  expect(await idleStatus(site)).toMatchObject({ payments: { running: 0 } });
  writeFileSync(join(openRunDirectory(site.dataDirectory), "stopped"), "now");
  await expect(idleStatus(site)).rejects.toThrow("stopped");
});
