import { truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createOutput, reasonIn } from "../../src/launcher/output.ts";
import {
  idleStatus,
  mayGoBack,
  mayGoBackByItself,
  switchWhenIdle,
} from "../../src/launcher/update/take-version.ts";
import { claimAddress, ipcToken, openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { switchBegins } from "../../src/update/switch-machine.ts";
import {
  readLastSwitch,
  readState,
  readSwitch,
  type SwitchRecord,
  writeSwitch,
} from "../../src/update/update-state.ts";
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

/** An idle tp-manager, and the record of an update whose version has passed its test. */
async function testedVersion() {
  const site = await tpManager([{ running: 0 }]);
  const begins = { from: "1.0.0", to: "9.0.0", beganMs: 0, atMs: 0, linkWasUp: true };
  const record: SwitchRecord = { format: 1, ...begins, ...switchBegins };
  writeSwitch(site.dataDirectory, record);
  return { site, record };
}

test("a disk without room for the switch is why the version is put off", async () => {
  const { site, record } = await testedVersion();
  const { dataDirectory } = site;
  const stores = join(dataDirectory, "supervisor.db");
  writeFileSync(stores, "");
  truncateSync(stores, 2 ** 43); // all holes
  const why = expect.stringMatching(/^\d+ MB are needed, \d+ MB are free$/);
  const end = await switchWhenIdle(site, record, () => undefined);
  expect(end).toMatchObject({ step: "undone", why, bars: false });
  expect(readSwitch(dataDirectory)).toBeUndefined();
  expect(readLastSwitch(dataDirectory)).toEqual(end);
  expect(readState(dataDirectory)).toMatchObject({ putOff: { version: "9.0.0", why }, barred: [] });
});

test("a stop while the version waits for its moment is why the version is put off", async () => {
  const { site, record } = await testedVersion();
  const { dataDirectory } = site;
  writeFileSync(join(openRunDirectory(dataDirectory), "stopped"), "now");
  await expect(switchWhenIdle(site, record, () => undefined)).rejects.toThrow("stopped");
  expect(readSwitch(dataDirectory)).toBeUndefined();
  const why = expect.stringContaining("an operator stopped the programs");
  expect(readState(dataDirectory)).toMatchObject({ putOff: { version: "9.0.0", why }, barred: [] });
});

test.each([
  ["a line", "a line"],
  [
    "file:///a.js:1\nthrow new Error('x');\n^\n\nError: no column x\n    at a.js:1\n\nNode.js v24",
    "Error: no column x",
  ],
  ["the disk is full\nmake room\n", "make room"],
  ["    at a.js:1", "    at a.js:1"],
])("the reason of a failed program is one line of %j", (printed, reason) => {
  expect(reasonIn(printed)).toBe(reason);
});
