import { createServer, type RequestListener } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { stores } from "../../src/launcher/commands/stores.ts";
import { createOutput } from "../../src/launcher/output.ts";
import { untilSteady } from "../../src/launcher/update/versions.ts";
import type { Program } from "../../src/shared/ipc/contract.ts";
import { claimAddress, ipcToken, openRunDirectory } from "../../src/shared/ipc/run-directory.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

function installation() {
  return { ...installationAt(temporaryFolder()), clock: systemClock, output: createOutput() };
}

async function serve(data: string, program: Program, answer: RequestListener): Promise<void> {
  const run = openRunDirectory(data);
  ipcToken(run);
  const server = createServer(answer);
  const address = claimAddress(run, program);
  await new Promise<void>((resolve) => server.listen(address, resolve));
  onTestFinished(() => void server.close());
}

/** How long the programs have to become steady, as in versions.ts. */
const WITHIN_MS = 60_000;

/** The end of a probation whose checks (from 0) find these links; undefined: a silent program. */
async function probation(linkAt: (check: number) => string | undefined) {
  const site = installation();
  const { dataDirectory } = site;
  const about = { version: "2.0.0", pid: 1, uptimeMs: 1 };
  await serve(dataDirectory, "supervisor", (_request, response) => {
    const outbox = { pending: 0, parked: 0, sent: 0, oldestAgeMs: null, paused: null };
    response.end(JSON.stringify({ ...about, program: "supervisor", outbox }));
  });
  // Time passes only with the checks: four of them take the whole probation.
  let check = 0;
  const monotonicMs = () => (check * WITHIN_MS) / 4;
  await serve(dataDirectory, "tp-manager", (request, response) => {
    const link = linkAt(check++);
    if (link === undefined) return void request.socket.destroy();
    const terminal = { link, problem: null, terminalId: "1", status: "ready" };
    const payments = { running: 0, inDoubt: 0, notHandedOver: 0 };
    const answer = { ...about, program: "tp-manager", port: 1, terminal, payments };
    response.end(JSON.stringify(answer));
  });
  const context = { ...site, clock: { ...systemClock, monotonicMs } };
  return await untilSteady(context, { to: "2.0.0", linkWasUp: true });
}

test("a version is healthy when its terminal stays connected", async () => {
  expect(await probation(() => "connected")).toEqual({ event: "carried-out" });
});

test("a terminal that is back at the end of the probation does not bar the version", async () => {
  const late = await probation((check) => (check < 3 ? "disconnected" : "connected"));
  const why = "the terminal was not reached again";
  expect(late).toEqual({ event: "failed", why, bars: false });
  expect(await probation(() => "disconnected")).toEqual({ event: "failed", why, bars: false });
  const flapping = await probation((check) => (check % 2 === 0 ? "disconnected" : "connected"));
  expect(flapping).toEqual({ event: "failed", why, bars: false });
});

test("a program that was silent until the end of the probation bars the version", async () => {
  const why = "a program does not answer";
  const late = await probation((check) => (check < 3 ? undefined : "connected"));
  expect(late).toEqual({ event: "failed", why, bars: true });
});

test("a tp-manager that refuses a question about its stores is not called silent", async () => {
  const site = installation();
  const fault = vi.spyOn(site.output, "fault").mockReturnValue();
  expect(await stores(site, { subject: undefined } as never)).toBe(69);
  expect(fault).toHaveBeenLastCalledWith(expect.stringMatching(/^tp-manager does not answer \(/));
  await serve(site.dataDirectory, "tp-manager", (_request, response) => {
    response.writeHead(503).end("an update is being tested");
  });
  expect(await stores(site, { subject: undefined } as never)).toBe(69);
  const refused = "tp-manager answered 503: an update is being tested; see ./launch.sh status";
  expect(fault).toHaveBeenLastCalledWith(refused);
});
