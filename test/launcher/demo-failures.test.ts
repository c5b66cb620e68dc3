import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { paySample } from "../../src/launcher/demo/sample-payment.ts";
import { type DemoSetup, isDemoTarget, readDemoSetup } from "../../src/launcher/demo/settings.ts";
import { forgetStop, recordStop } from "../../src/launcher/processes/deliberate-stop.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { demoFolder } from "../support/programs/demo-folder.ts";
import { freePort } from "../support/programs/installation.ts";
import { recordedOutput } from "../support/programs/recorded-output.ts";
import { isWhole } from "../support/run/scope.ts";
import { TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

// Real processes on a machine that others use too.
/** The demo with real simulators and stand-ins for the programs, which answer what a test wants. */
let checkout: TemporaryCheckout;
beforeAll(() => {
  checkout = new TemporaryCheckout();
});
afterAll(() => checkout.remove());

const good = {
  status: "Success",
  notificationGatewaySent: true,
  amount: 12,
  currency: "EUR",
  receipt: { primaryAccountNumber: "541333XXXXXX0006" },
};
const wholeDemo = ["tp-manager", "supervisor", "simulator/terminal", "simulator/gateway"];

test("a sample payment with a wrong answer fails the demo with the reason", async () => {
  const data = await demoFolder(join(checkout.home, "fails"));
  const answerWith = (answer: object): void =>
    writeFileSync(join(data, "payment-answer.json"), JSON.stringify(answer));
  answerWith({ ...good, status: "Declined" });
  const { code, err } = await checkout.launch("--demo", "--data", data);
  expect({ code, err }).toEqual({
    code: 69,
    err: "The sample payment is not as it must be: its status is Declined\n",
  });
  // The demo runs now: this process makes its further payments.
  const setup = readDemoSetup(data) as DemoSetup;
  const context = { ...installationAt(data), clock: systemClock, output: recordedOutput([]) };
  const pay = (answer: object): Promise<void> => {
    answerWith(answer);
    return paySample(context, setup);
  };
  await expect(pay({ ...good, notificationGatewaySent: false })).rejects.toThrow(
    "notificationGatewaySent: false",
  );
  const error = { code: "TERMINAL_IN_DOUBT", message: "An earlier payment is in doubt." };
  const receipt = { primaryAccountNumber: "" };
  await expect(pay({ status: "Failed", error, receipt })).rejects.toThrow(
    /it was refused: TERMINAL_IN_DOUBT, An earlier payment.*about 3 minutes/,
  );
  await expect(pay({ something: "else" })).rejects.toThrow("the answer is not a payment's");
  await expect(pay(good)).rejects.toThrow("the sandbox has 0 orders with this orderId");
});

// One demo, on which every test goes on from the one before.
describe("a demo that runs", () => {
  let data: string;
  const ports = () => JSON.parse(readFileSync(join(data, "demo.json"), "utf8"));
  const password = () => /^GATEWAY_PWD=.*$/m.exec(readFileSync(join(data, "config.txt"), "utf8"));

  test("fails without an answer to its payment, and is left running", async () => {
    data = await demoFolder(join(checkout.home, "runs"));
    // The stand-in serves payments only when the test has given it an answer.
    expect(await checkout.launch("--demo", "--data", data)).toMatchObject({ code: 69 });
    expect(wholeDemo.map((part) => checkout.running(part, data).length)).toEqual([1, 1, 1, 1]);
  });

  test("has secrets that only their owner can read, and that are on no command line", () => {
    const files = ["config.txt", "netrc", "netrc-operator", "gateway-account.json", "demo.json"];
    for (const name of files) {
      const mode = statSync(join(data, name)).mode & 0o777;
      expect({ name, mode }).toEqual({ name, mode: 0o600 });
    }
    const config = readFileSync(join(data, "config.txt"), "utf8");
    const passwords = [...config.matchAll(/_PWD=(.+)/g)].map(([, password]) => password as string);
    expect(passwords).toHaveLength(3);
    expect(new Set(passwords).size).toBe(3);
    // Of two logins for one host, Python's netrc takes the last one and curl the first one.
    const logins = ["netrc", "netrc-operator"].map((name) =>
      readFileSync(join(data, name), "utf8").match(/(?<=login )\w+/g),
    );
    expect(logins).toEqual([
      ["kiosk", "kiosk"],
      ["operator", "operator"],
    ]);
    for (const part of wholeDemo) {
      const [pid] = checkout.running(part, data) as [number];
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      expect(passwords.filter((password) => commandLine.includes(password))).toEqual([]);
    }
  });

  test("says that a part of it has died before it starts all parts again", async () => {
    const [supervisor] = checkout.running("supervisor", data) as [number];
    const before = ports();
    process.kill(supervisor, "SIGKILL");
    const again = await checkout.launch("--demo", "--data", data);
    expect(again.out).toMatch(
      /^The demo was incomplete \(supervisor had stopped\), so the whole demo is stopped/m,
    );
    expect(ports()).toEqual(before);
  });

  test("replaces ports that are in use by free ones, and keeps what a person has set", async () => {
    const [first, secret] = [ports(), password()?.[0]];
    await checkout.launch("stop", "--data", data);
    const [config, moved] = [join(data, "config.txt"), await freePort()];
    const before = readFileSync(config, "utf8");
    const own = before.replace(/^(KIOSK_APP=).*/m, "$1/my/pages\n# mine\nLANGUAGE=de");
    writeFileSync(config, own.replace(/^(LOCAL_PORT=).*/m, `$1${moved}`));
    const thief = createServer();
    await new Promise<void>((resolve) => thief.listen(first.gateway, "127.0.0.1", resolve));
    const fresh = await checkout.launch("--demo", "--data", data);
    expect(fresh.out).not.toContain("The demo was incomplete");
    await new Promise((resolve) => thief.close(resolve));
    const { gateway } = ports();
    expect(ports()).toEqual({ ...first, localApi: moved, gateway: expect.any(Number) });
    expect(gateway).not.toBe(first.gateway);
    expect(fresh.out).toContain(
      `Port ${first.gateway} is taken: the demo uses ${gateway} from now`,
    );
    expect(fresh.err).toContain(`http://127.0.0.1:${moved}/payment`);
    const after = readFileSync(config, "utf8");
    expect(after).toContain("KIOSK_APP=/my/pages\n# mine\nLANGUAGE=de\n");
    expect(after).toContain(`GATEWAY_URL=http://127.0.0.1:${gateway}\n`);
    expect(password()?.[0]).toBe(secret);
  });
});

test("is meant by stop and status when nothing else runs, simulators included", async () => {
  const own = new TemporaryCheckout("stand-ins", "own");
  onTestFinished(() => own.remove());
  await demoFolder(join(own.root, "data/demo"));
  await own.launch("--demo");
  const status = await own.launch("status");
  expect(status.code).toBe(0);
  expect(status.out.match(/^\S+ +running +pid \d+/gm)).toHaveLength(4);
  // While no installation is set up, a start is for the demo too.
  const [killed] = own.running("tp-manager", join(own.root, "data/demo")) as [number];
  process.kill(killed, "SIGKILL");
  expect(await own.launch("start")).toMatchObject({ code: 0, err: "" });
  expect(own.running("tp-manager", join(own.root, "data/demo"))).not.toEqual([killed]);
  const installation = own.dataFolder("data");
  await own.launch("start");
  expect((await own.launch("status")).out.match(/^\S+ +running/gm)).toHaveLength(2);
  await own.launch("stop");
  expect(own.running("tp-manager", installation)).toEqual([]);
  const demo = join(installation, "demo");
  expect(wholeDemo.map((part) => own.running(part, demo).length)).toEqual([1, 1, 1, 1]);
  const stopped = await own.launch("stop");
  expect(stopped.code).toBe(0);
  expect(stopped.out.match(/^\S+ +stopped$/gm)).toHaveLength(4);
  expect(wholeDemo.map((part) => own.running(part, demo).length)).toEqual([0, 0, 0, 0]);
});

test("a command is for it after a failed restart, until it is stopped", async () => {
  const installation = join(checkout.home, "installation");
  // Nothing runs here, as after a restart that failed.
  const demo = await demoFolder(join(installation, "demo"));
  const isTarget = () => isDemoTarget(demo, installation);
  expect(isTarget()).toBe(true);
  recordStop(demo, Date.now());
  expect(isTarget()).toBe(false);
  forgetStop(demo);
  checkout.dataFolder("installation");
  // The installation may have crashed, so a command is for it.
  expect(isTarget()).toBe(false);
  recordStop(installation, Date.now() - 60_000);
  expect(isTarget()).toBe(true);
  recordStop(installation, Date.now() + 60_000);
  expect(isTarget()).toBe(false);
});

test("a port that another program takes between choice and use is replaced", async () => {
  const data = await demoFolder(join(checkout.home, "raced"));
  const chosen = JSON.parse(readFileSync(join(data, "demo.json"), "utf8"));
  const thief = createServer();
  thief.on("error", () => undefined); // too late: another try
  onTestFinished(() => void thief.close());
  let demo = { out: "", err: "" };
  for (let tries = 0; !thief.listening; tries++) {
    if (tries > 0) await checkout.launch("stop", "--data", data);
    // The setup file is written last before the ports in it are used.
    const watcher = watch(data, (_, file) => {
      if (file !== "config.txt") return;
      watcher.close();
      thief.listen(chosen.gateway, "127.0.0.1");
    });
    demo = await checkout.launch("--demo", "--data", data);
    watcher.close();
  }
  expect(demo.out).toContain("Another program has begun to use a port of the demo");
  // The stand-in has no answer to the payment; but what it is about runs.
  expect(demo.err).not.toContain("gateway-sandbox");
  expect(wholeDemo.map((part) => checkout.running(part, data).length)).toEqual([1, 1, 1, 1]);
  const ports = JSON.parse(readFileSync(join(data, "demo.json"), "utf8"));
  expect(ports).toMatchObject({ ...chosen, gateway: expect.any(Number) });
  expect(ports.gateway).not.toBe(chosen.gateway);
});

test.skipIf(!isWhole)("a port that another program uses for a moment is tried again", async () => {
  const data = await demoFolder(join(checkout.home, "for-a-moment"));
  const chosen = JSON.parse(readFileSync(join(data, "demo.json"), "utf8"));
  const logs = join(data, "logs");
  mkdirSync(logs);
  let hasMet = false;
  let err = "";
  for (let tries = 0; !hasMet; tries++) {
    if (tries > 0) await checkout.launch("stop", "--data", data);
    for (const file of startOutputs(logs)) rmSync(file);
    const thief = createServer();
    thief.on("error", () => undefined); // too late: another try
    const watcher = watch(data, (_, file) => {
      if (file !== "config.txt") return;
      watcher.close();
      thief.listen(chosen.gateway, "127.0.0.1");
    });
    // The demo stops its other parts before it looks for ports again.
    const meeting = watch(logs, () => {
      const isMet = startOutputs(logs).some((out) =>
        readFileSync(out, "utf8").includes("EADDRINUSE"),
      );
      if (!isMet || !thief.listening) return;
      hasMet = true;
      thief.close();
    });
    ({ err } = await checkout.launch("--demo", "--data", data));
    watcher.close();
    meeting.close();
    thief.close();
  }
  // The stand-in has no answer to the payment; but what it is about runs.
  expect(err).not.toContain("EADDRINUSE");
  expect(wholeDemo.map((part) => checkout.running(part, data).length)).toEqual([1, 1, 1, 1]);
  expect(JSON.parse(readFileSync(join(data, "demo.json"), "utf8"))).toEqual(chosen);
});

test("the folder of an installation never becomes a demo's folder", async () => {
  const data = checkout.dataFolder("precious");
  const before = readFileSync(join(data, "config.txt"), "utf8");
  const { code, err } = await checkout.launch("--demo", "--data", data);
  expect(code).toBe(64);
  expect(err).toContain("belongs to an installation, not to a demo");
  expect(readFileSync(join(data, "config.txt"), "utf8")).toBe(before);
});

/** What the parts wrote before they had a log. */
function startOutputs(logs: string): string[] {
  const names = readdirSync(logs).filter((name) => name.endsWith(".out"));
  return names.map((name) => join(logs, name));
}
