import type { ChildProcess } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { API_LOGIN, apiPassword, readDemoSetup } from "../../src/launcher/demo/settings.ts";
import { isRunning } from "../../src/launcher/processes/process-table.ts";
import { newId } from "../../src/shared/new-id.ts";
import { sleep, systemClock } from "../../src/shared/time.ts";
import { projectRoot } from "../../src/shared/version-files.ts";
import { auditPart, joined, partsOf } from "../../src/tp-manager/audit/audit-journal.ts";
import { asIdle, PATIENCE_MS } from "../support/clocks/patience.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { until } from "../support/programs/child-program.ts";
import { demoFolder } from "../support/programs/demo-folder.ts";
import { runToEnd, startProcess } from "../support/programs/own-processes.ts";
import { Publisher } from "../support/programs/publisher.ts";
import { isWhole } from "../support/run/scope.ts";
import { makeDelivery, migratesAndCrashes, startingWith } from "./fixtures/test-delivery.ts";

/*
 * docs/updates.md 4.2: a delivery that takes other ones, with real processes. The installation is a
 * demo, so it has a terminal and a gateway.
 */

const folder = temporaryFolder(afterAll);
const root = join(folder, "ein Kiösk & Automat in einem Ordner mit langem Namen");
const data = join(root, "data", "kiosk");
const publisher = new Publisher(join(folder, "publisher"));

/** An unpacked delivery; `change` makes it a bad one. */
function delivery(
  version: string,
  change: (folder: string) => void = () => {},
  to = join(folder, version),
): string {
  return makeDelivery({ version, to, trustedRoot: publisher.trustedRoot, change });
}

function launch(...args: string[]) {
  return runToEnd("sh", [join(root, "launch.sh"), ...args, "--data", data]);
}

const named = (file = "current"): string => readFileSync(join(root, file), "utf8").trim();

beforeAll(async () => {
  // Found from every version: the packages with machine code.
  symlinkSync(join(projectRoot, "node_modules"), join(folder, "node_modules"));
  delivery("1.0.0", undefined, root);
  writeFileSync(join(root, "current"), "1.0.0\n");
  await demoFolder(data);
  await launch("--demo");
});
afterAll(() => launch("stop"));

interface Answer {
  readonly status?: string;
  readonly error?: { readonly code: string };
}

/**
 * A switch ends after a self-test at low priority, which gets what the machine's other programs
 * leave: 54 seconds at a load of 25, where the rest of the switch took 6. The limit of `until`
 * allows only for the load that the test's own process feels.
 */
const SWITCH_WITHIN_MS = 3 * PATIENCE_MS;

/** Between two sales: how long an update keeps a kiosk from selling. */
const GAP_MAX_MS = 15_000;

/** Pays with an order of its own again and again, as a kiosk does. */
class Kiosk {
  readonly charged: string[] = [];
  readonly refused: string[] = [];
  longestGapMs = 0;
  #isOpen = true;
  readonly #run = this.#pay();

  /** It goes home with its test, also with one that fails. */
  constructor() {
    onTestFinished(() => this.close());
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#run;
  }

  async #pay(): Promise<void> {
    const { localApi } = readDemoSetup(data) ?? { localApi: 0 };
    const authorization = `Basic ${btoa(`${API_LOGIN}:${apiPassword(data)}`)}`;
    const headers = { authorization, "content-type": "application/json" };
    let lastMs = systemClock.monotonicMs();
    while (this.#isOpen) {
      const orderId = `K-${newId()}`;
      const body = JSON.stringify({ orderId, amount: 1 });
      const url = `http://127.0.0.1:${localApi}/payment`;
      const [answer] = await fetch(url, { method: "POST", headers, body }).then(
        (response) => response.json() as Promise<Answer[]>,
        (): Answer[] => [{ error: { code: "nobody listens" } }],
      );
      if (answer?.status === "Success") {
        this.charged.push(orderId);
        const gapMs = systemClock.monotonicMs() - lastMs;
        const isLong = gapMs > Math.max(this.longestGapMs, GAP_MAX_MS);
        this.longestGapMs = Math.max(this.longestGapMs, isLong ? asIdle(gapMs) : gapMs);
        lastMs = systemClock.monotonicMs();
      } else this.refused.push(answer?.error?.code ?? "no reason");
      await sleep(systemClock, "customers", 1_000);
    }
  }
}

async function answerTo(path: string): Promise<string> {
  const { localApi } = readDemoSetup(data) ?? { localApi: 0 };
  const authorization = `Basic ${btoa(`${API_LOGIN}:${apiPassword(data)}`)}`;
  const answer = await fetch(`http://127.0.0.1:${localApi}${path}`, { headers: { authorization } });
  return await answer.text();
}

/** Whether tp-manager of the version answers. */
async function answers(version: string): Promise<boolean> {
  return (await answerTo("/version").catch(() => "")).includes(`"${version}-`);
}

/** The audit of the journal, without the processes of `launch.sh audit`. */
function audited() {
  const journal = join(data, "journal.db");
  return joined(partsOf(journal).map((part) => auditPart(journal, part)));
}

// What becomes of the stores is the same with stand-ins for the programs (test/update/switch-*).
test.skipIf(!isWhole)("a version that migrates and crashes is undone, stores too", async () => {
  const bad = delivery("1.1.0", migratesAndCrashes);
  await expect(launch("update", "--delivery", bad)).rejects.toMatchObject({ code: 69 });
  expect(named()).toBe("1.0.0");
  expect(await answers("1.0.0")).toBe(true);
  expect((await launch("update")).stdout).toMatch(/undone +1\.0\.0 to 1\.1\.0[\s\S]*not here/);
  expect((await launch("stores")).stdout).not.toContain("put back");
});

test("an incomplete version is refused before any program is stopped", async () => {
  const bad = delivery("1.2.0", (at) => {
    const script = join(at, "programs", "supervisor.script.js");
    // Cut inside an expression: a file cut between two statements would begin to run.
    writeFileSync(script, `${readFileSync(script, "utf8").slice(0, 3_000)}(`);
  });
  const kiosk = new Kiosk();
  await expect(launch("update", "--delivery", bad)).rejects.toMatchObject({
    code: 69,
    stdout: expect.stringContaining("Version 2.0.0 will refuse update --delivery"),
    stderr: expect.stringMatching(/supervisor cannot run here: SyntaxError: /),
  });
  await kiosk.close();
  expect(kiosk.refused).toEqual([]);
  expect(named()).toBe("1.0.0");
});

test("a version found on a web server is taken by the keep-alive while a kiosk pays", async () => {
  await publisher.publish(delivery("1.3.0"));
  appendFileSync(join(data, "config.txt"), `\nUPDATE_URL=${await publisher.serve(afterAll)}\n`);
  expect((await launch("update", "--check")).stdout).toContain("1.3.0 is offered");
  const check = join(root, "versions", "1.0.0", "programs", "update-check.js");
  const checked = await runToEnd(process.execPath, [check, "--data", data]);
  expect(checked.stdout).toContain("1.3.0 is ready");
  const before = audited().attempts;
  const kiosk = new Kiosk();
  await runToEnd("sh", [join(root, "always-up.sh"), "--data", data]);
  const output = join(data, "logs", "update.out");
  const isTaken = (): boolean => readFileSync(output, "utf8").includes("1.3.0 runs");
  await until("the update", () => isTaken() || undefined, SWITCH_WITHIN_MS);
  const sold = kiosk.charged.length;
  await until("a sale after it", () => kiosk.charged.length > sold || undefined);
  await kiosk.close();
  expect([named(), named("previous")]).toEqual(["1.3.0", "1.0.0"]);
  const status = (await launch("status")).stdout;
  expect(status).toMatch(/tp-manager +running .*version 1\.3\.0/);
  expect(await answerTo("/version")).toContain("1.3.0");
  expect(status).toMatch(/updates +checked daily +channel stable, last check 20/);
  expect(kiosk.refused).toContain("UPDATING");
  const audit = JSON.parse((await launch("audit", "--json")).stdout);
  expect(audit).toMatchObject({ faults: [], attempts: before + kiosk.charged.length });
  expect(kiosk.longestGapMs).toBeLessThan(GAP_MAX_MS);
});

test("after an operator goes back, the version that was left is not offered again", async () => {
  const { stdout } = await launch("update", "--back");
  expect(stdout).toContain("1.0.0 runs");
  expect(await answers("1.0.0")).toBe(true);
  expect((await launch("update")).stdout).toMatch(/not taken again +1\.3\.0/);
  await expect(launch("update", "--back")).rejects.toMatchObject({
    code: 69,
    stderr: expect.stringContaining("there is no previous version"),
  });
  if (process.getuid?.() === 0) {
    const older = await launch("update", "--package", join(folder, "1.2.0"));
    expect(older.stdout).toContain("the package has version 1.2.0; 1.3.0 was taken already");
    const newer = await launch("update", "--package", delivery("1.3.1"));
    expect(newer.stdout).toContain("version 1.3.1 of the package is ready");
    expect((await launch("update")).stdout).toMatch(/ready +1\.3\.1/);
  }
  const held = await launch("update", "--hold", "--by=Anna Älg");
  expect(held.stdout).toMatch(/held +by Anna Älg since .* until/);
  expect((await launch("update", "--unhold")).stdout).toMatch(/not held +the hold of Anna Älg/);
  expect((await launch("update", "--hold")).stdout).toMatch(/held +by .* until/);
  const past = launch("update", "--hold", "--until", "2020-01-31");
  await expect(past).rejects.toMatchObject({
    code: 64,
    stderr: expect.stringContaining("--until must name a day after today"),
  });
  expect((await launch("update", "--now")).stdout).toContain("there is no newer version");
  expect((await launch("update", "--from", publisher.web)).stdout).toContain("no newer version");
  const empty = launch("update", "--from", folder, "--accept-expired");
  await expect(empty).rejects.toMatchObject({
    code: 69,
    stderr: expect.stringMatching(/nothing is there: .*timestamp.json is missing/),
  });
  await expect(launch("update", "--now", "--accept-expired")).rejects.toMatchObject({ code: 64 });
  expect((await launch("update")).stdout).not.toContain("held");
});

/** Runs the launcher in the foreground again and again, as systemd does it. */
class Service {
  #isOn = true;
  #launcher: ChildProcess | undefined;
  output = "";
  readonly #run = this.#restart();

  async stop(): Promise<void> {
    this.#isOn = false;
    this.#launcher?.kill("SIGTERM");
    await this.#run;
  }

  async #restart(): Promise<void> {
    while (this.#isOn) {
      const args = [join(root, "launch.sh"), "--foreground", "--data", data];
      const launcher = startProcess("sh", args);
      this.#launcher = launcher;
      for (const stream of [launcher.stdout, launcher.stderr]) {
        stream?.on("data", (bytes: Buffer) => (this.output += bytes));
      }
      await new Promise((resolve) => launcher.once("close", resolve));
      await sleep(systemClock, "RestartSec", 2_000);
    }
  }
}

// Another place of the launcher: what a switch does is the same as under the keep-alive (above).
test.skipIf(!isWhole)("a launcher that a service manager runs takes a version itself", async () => {
  const from = named();
  const { programs } = JSON.parse((await launch("status", "--json")).stdout);
  for (const { pid } of programs) process.kill(pid, "SIGTERM");
  await until("the end of tp-manager", async () => !(await answers(from)) || undefined);
  const isOver = (): boolean => !programs.some(({ pid }: { pid: number }) => isRunning(pid));
  await until("the end of the programs", () => isOver() || undefined);
  const service = new Service();
  onTestFinished(async ({ task }) => {
    await service.stop();
    const lines = service.output.split("\n").filter((line) => !line.includes('"level":"info"'));
    if (task.result?.state === "fail") process.stdout.write(`the service: ${lines.join("\n")}\n`);
    await launch();
  });
  await until("an answer", async () => (await answers(from)) || undefined);
  const before = audited().attempts;
  const kiosk = new Kiosk();
  await until("a sale", () => kiosk.charged[0]);
  // A folder in place of the file, because root may read each file.
  const hold = join(data, "update", "hold.json");
  const ready = join(data, "update", "ready.json");
  mkdirSync(hold, { recursive: true });
  writeFileSync(ready, JSON.stringify({ format: 1, version: "1.3.5", atMs: Date.now() }));
  const isRefused = (): boolean => service.output.includes("is installed now: EISDIR");
  await until("the unreadable hold", () => isRefused() || undefined);
  expect(await answers(from)).toBe(true);
  for (const path of [ready, hold]) rmSync(path, { recursive: true });
  await publisher.publish(delivery("1.3.5"));
  const now = await launch("update", "--now");
  expect(now.stdout).toContain("the service installs it");
  // The programs that the update has started end with its launcher, and those of the next one come.
  const isNext = (): boolean => service.output.includes("of the installed version runs next");
  await until("the end of the launcher", () => isNext() || undefined, SWITCH_WITHIN_MS);
  await until("an answer of 1.3.5", async () => (await answers("1.3.5")) || undefined);
  const sold = kiosk.charged.length;
  await until("a sale after it", () => kiosk.charged.length > sold || undefined);
  await kiosk.close();
  expect(await answerTo("/version")).toContain("1.3.5");
  expect(audited()).toMatchObject({ faults: [], attempts: before + kiosk.charged.length });
  expect(service.output).toContain(`${from} to 1.3.5: done`);
  expect(kiosk.longestGapMs).toBeLessThan(GAP_MAX_MS);
  // The way back (docs/packages.md): the service stops, and nothing else records a stop.
  const served = launch("update", "--back");
  await expect(served).rejects.toMatchObject({
    code: 69,
    stderr: expect.stringContaining("stop the service"),
  });
  await service.stop();
  expect((await launch("update", "--back")).stdout).toContain(`${from} runs`);
  expect(await answers(from)).toBe(true);
});

test("a launcher that is killed on the probation leaves the rest to the keep-alive", async () => {
  const args = ["update", "--delivery", delivery("1.4.0", (at) => crashing(at)), "--data", data];
  const launcher = startProcess("sh", [join(root, "launch.sh"), ...args], { stdio: "ignore" });
  const ended = new Promise((resolve) => launcher.once("exit", resolve));
  const record = join(data, "update", "under-way.json");
  const isOnProbation = (): boolean =>
    existsSync(record) && readFileSync(record, "utf8").includes('"step":"probation"');
  await until("the probation", () => isOnProbation() || undefined, SWITCH_WITHIN_MS);
  launcher.kill("SIGKILL");
  await ended;
  await runToEnd("sh", [join(root, "always-up.sh"), "--data", data]);
  expect(existsSync(record)).toBe(false);
  expect(named()).toBe("1.4.0");
  expect(await answers("1.4.0")).toBe(true);
  const kiosk = new Kiosk();
  await until("a sale", () => kiosk.charged[0]);
  await kiosk.close();
});

/** From a moment that the test chooses on, tp-manager crashes whenever it is started. */
const crashing = startingWith(`
  const look = () => isFile(data + "/crash") && process.exit(70);
  look();
  setInterval(look, 50).unref();`);

test("crashes in the first hour bring the previous version back, on the same stores", async () => {
  // Left by the test before this one, unless that one has failed.
  if (named() !== "1.4.0") {
    const again = delivery("1.4.0", crashing, join(folder, "1.4.0 again"));
    await launch("update", "--delivery", again);
  }
  const previous = named("previous");
  const { attempts } = audited();
  writeFileSync(join(data, "crash"), "");
  const codes: number[] = [];
  while (named() === "1.4.0" && codes.length < 6) {
    const check = runToEnd("sh", [join(root, "always-up.sh"), "--data", data]);
    codes.push(await check.then(() => 0).catch(({ code }: { code: number }) => code));
  }
  expect(codes.at(-1)).toBe(0);
  expect(named()).toBe(previous);
  expect(await answers(previous)).toBe(true);
  const output = (await launch("update")).stdout;
  expect(output).toMatch(/not taken again +1\.4\.0 +tp-manager failed 3 times .* its first hour/);
  expect(audited()).toMatchObject({ faults: [], attempts });
});
