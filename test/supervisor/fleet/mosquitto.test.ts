import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { readArguments } from "../../../src/launcher/arguments.ts";
import { enrol } from "../../../src/launcher/fleet/enrol.ts";
import type { CommandContext } from "../../../src/launcher/output.ts";
import { readEntries } from "../../../src/shared/config/config-file.ts";
import { readOr } from "../../../src/shared/read-or.ts";
import { systemClock } from "../../../src/shared/time.ts";
import type { BrokerSettings } from "../../../src/supervisor/fleet/broker.ts";
import type { StateNow } from "../../../src/supervisor/fleet/documents.ts";
import { mqttConnector } from "../../../src/supervisor/fleet/mqtt-broker.ts";
import { threadedConnector } from "../../../src/supervisor/fleet/threaded-broker.ts";
import { asSlow, PATIENCE_MS } from "../../support/clocks/patience.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { runToEnd } from "../../support/programs/own-processes.ts";
import { hasTool } from "../../support/programs/tools.ts";
import { SupervisorProcess, writeConfig } from "../supervisor-process.ts";
import { advanceUntil, FLEET_ROUND_MS, KIOSK, openFleet, passing } from "./fleet-rig.ts";
import { hasMosquitto, Mosquitto } from "./mosquitto.ts";

const all = `connector/1/${KIOSK}/#`;
const poll = { timeout: PATIENCE_MS };
const inMosquitto = test.skipIf(!hasMosquitto || !hasTool("python3"));

const reader = join(import.meta.dirname, "subscriber.py");

/** The first document of the state that a Python client without packages is given. */
async function readByPython(port: number): Promise<string> {
  const args = [reader, "127.0.0.1", String(port), `connector/1/${KIOSK}/state`];
  return (await runToEnd("python3", args)).stdout;
}

inMosquitto(
  "over TLS with password and client certificate: birth, a killed process, a restart, a stop",
  async () => {
    const broker = await Mosquitto.guarded();
    await broker.up();
    const watched = await broker.watch(all);
    const data = join(temporaryFolder(), "data");
    writeConfig(data, "http://127.0.0.1:9", {
      FLEET_URL: `mqtts://127.0.0.1:${broker.tlsPort}`,
      FLEET_ID: KIOSK,
      FLEET_USER: KIOSK,
      FLEET_PASSWORD: "secret of the kiosk",
      FLEET_CA_FILE: broker.file("ca.pem"),
      FLEET_CERT_FILE: broker.file("client.pem"),
      FLEET_KEY_FILE: broker.file("client.key"),
    });
    const first = new SupervisorProcess(data);
    await first.ready();
    await expect.poll(() => watched.connections, poll).toEqual(["online"]);
    expect(await readByPython(broker.port)).toMatch(/^retained .*"connection":"online"/);

    // The certificates of this test end in two days.
    const [{ now }] = watched.documents("state") as [{ now: StateNow }];
    expect(now.troubles).toContain("certificates-end");

    const killedMs = performance.now();
    await first.kill();
    await expect.poll(() => watched.connections, poll).toEqual(["online", "lost"]);
    expect(performance.now() - killedMs).toBeLessThan(asSlow(5_000));
    expect(await readByPython(broker.port)).toMatch(/^retained .*"connection":"lost"/);

    const second = new SupervisorProcess(data);
    await second.ready();
    await expect.poll(() => watched.connections, poll).toEqual(["online", "lost", "online"]);
    expect(await readByPython(broker.port)).toMatch(/^retained .*"connection":"online"/);
    expect(await second.ended("SIGTERM")).toBe(0);
    await expect.poll(() => watched.connections.at(-1), poll).toBe("stopped");
    expect(first.output + second.output).toBe("");
  },
);

inMosquitto(
  "a wrong password, a stranger's certificate, another authority are refused; wss is taken",
  async () => {
    const broker = await Mosquitto.guarded();
    await broker.up();
    const good: BrokerSettings = {
      url: `mqtts://127.0.0.1:${broker.tlsPort}`,
      kiosk: KIOSK,
      user: KIOSK,
      password: "secret of the kiosk",
      certificate: broker.read("client.pem"),
      key: broker.read("client.key"),
      trusted: [broker.read("ca.pem")],
      commands: true,
    };
    const message = { payload: "{}", retained: false, expirySeconds: 9 };
    const attempt = async (change: Partial<BrokerSettings>, topic = "x"): Promise<string> => {
      const listener = { lost: () => {}, received: () => {} };
      const will = { ...message, topic: `connector/1/${KIOSK}/state` };
      try {
        const one = await threadedConnector(systemClock)({ ...good, ...change }, will, listener);
        const sent = await one.send({ ...message, topic });
        await one.close();
        return sent;
      } catch (error) {
        return (error as Error).message;
      }
    };
    const stranger = { certificate: broker.read("stranger.pem"), key: broker.read("stranger.key") };
    const ends = await Promise.all([
      attempt({ password: "another" }),
      attempt(stranger),
      attempt({ certificate: undefined, key: undefined }),
      attempt({ trusted: [broker.read("other.pem")] }),
    ]);
    ends.push(await attempt({}, `connector/1/${KIOSK}/metrics`));
    // The broker's rules let a kiosk publish below its own name only.
    ends.push(await attempt({}, "connector/1/kiosk-8/metrics"));
    const web = broker.webPort && { url: `wss://127.0.0.1:${broker.webPort}/mqtt` };
    ends.push(await attempt(web || {}, `connector/1/${KIOSK}/metrics`));
    // By MQTT 3.1.1 it answers as if it had taken what it drops.
    ends.push(await attempt({ mqtt: "3.1.1" }, "connector/1/kiosk-8/metrics"));
    expect(ends).toEqual([
      expect.stringMatching(/not authori[sz]ed/i),
      expect.stringMatching(/unknown ca|closed/i),
      expect.stringMatching(/certificate required|closed/i),
      expect.stringMatching(/certificate/i),
      "taken",
      "lost",
      "taken",
      "taken",
    ]);
  },
);

inMosquitto.each([
  ["logins", []],
  ["certificates", ["--certificates"]],
])(
  "enrolled with %s: each kiosk has its own topics, and no other ends its connection",
  async (_, way) => {
    const folder = temporaryFolder();
    const at = (...path: string[]): string => join(folder, "enrolled", ...path);
    const list = join(folder, "kiosks.csv");
    writeFileSync(list, "FLEET_ID\nkiosk-7\nkiosk-8\nkiosk-9\n");
    const run = (...args: string[]): void => {
      const given = readArguments([
        "fleet",
        "enrol",
        list,
        "--broker",
        "mqtts://127.0.0.1",
        ...args,
      ]);
      const output = { row: () => {}, note: () => {} };
      enrol({ output, clock: systemClock } as unknown as CommandContext, given);
    };
    run(...way);
    const broker = await Mosquitto.enrolled(at("broker"));
    await broker.up();
    const settingsOf = (kiosk: string): BrokerSettings => {
      const file = (name: string) =>
        readOr(undefined, () => readFileSync(at("kiosks", kiosk, name), "utf8"));
      const { entries } = readEntries(file("fleet.txt") ?? "");
      const setting = (name: string) => entries.find((entry) => entry.name === name)?.value;
      return {
        url: `mqtts://127.0.0.1:${broker.port}`,
        kiosk,
        user: setting("FLEET_USER"),
        password: setting("FLEET_PASSWORD"),
        certificate: file("fleet.pem"),
        key: file("fleet.key"),
        trusted: [file("fleet-ca.pem") ?? ""],
        commands: true,
      };
    };
    const messageTo = (kiosk: string, name: string) => {
      const topic = `connector/1/${kiosk}/${name}`;
      return { topic, payload: "{}", retained: false, expirySeconds: 9 };
    };
    const connect = (settings: BrokerSettings, will = messageTo(settings.kiosk, "state")) =>
      mqttConnector(systemClock)(settings, will, { lost: () => {}, received: () => {} });
    const seven = await connect(settingsOf("kiosk-7"));
    expect(await seven.send(messageTo("kiosk-7", "alarm"))).toBe("taken");
    const asSeven = { ...settingsOf("kiosk-8"), kiosk: "kiosk-7", commands: false };
    const eight = await connect(asSeven, messageTo("kiosk-8", "state"));
    expect(await eight.send(messageTo("kiosk-8", "alarm"))).toBe("taken");
    expect(await eight.send(messageTo("kiosk-7", "alarm"))).toBe("lost");
    expect(await seven.send(messageTo("kiosk-7", "alarm"))).toBe("taken");
    await seven.close();
    const nobody = { password: "x", certificate: undefined, key: undefined };
    await expect(connect({ ...settingsOf("kiosk-7"), ...nobody })).rejects.toThrow();

    const old = settingsOf("kiosk-9");
    run("--renew", "kiosk-9");
    broker.signal("SIGHUP");
    const isTaken = (settings: BrokerSettings) =>
      connect(settings).then(
        (connection) => connection.close().then(() => true),
        () => false,
      );
    await expect.poll(() => isTaken(old), poll).toBe(false);
    expect(await isTaken(settingsOf("kiosk-9"))).toBe(true);
    // The operator's login deletes the state of a kiosk that is gone.
    const operator = { ...settingsOf("../readers/fleet.requests"), kiosk: "kiosk-9" };
    const gone = { ...messageTo("kiosk-9", "state"), payload: "", retained: true };
    expect(await (await connect(operator)).send(gone)).toBe("taken");
  },
);

inMosquitto("down at the start, down for hours, killed and slow: each document comes", async () => {
  const broker = await Mosquitto.made();
  const { fleet, clock, tpManager, store, lines } = openFleet({ url: broker.url });
  fleet.start();
  tpManager.payment("charged", { attempt: 1 });
  const fromMs = clock.monotonicMs();
  await advanceUntil(clock, 60_000, () => clock.monotonicMs() > fromMs + 3 * 3_600_000);
  expect(store.waiting).toBe(1);
  await broker.up();
  const roundTrip = () => broker.roundTrip();
  const watched = await broker.watch(all);
  await passing(clock, 5_000, () => store.waiting === 0, roundTrip);
  await expect.poll(() => watched.documents("payment")).toMatchObject([{ attempt: 1 }]);
  const steady = async (): Promise<void> => {
    const sinceMs = clock.monotonicMs();
    await passing(clock, 2_000, () => clock.monotonicMs() > sinceMs + 61_000, roundTrip);
  };
  await steady();

  const online = () => lines.filter((line) => line.includes("connected to the fleet")).length;
  await broker.down();
  tpManager.payment("charged", { attempt: 2 });
  await clock.advance(FLEET_ROUND_MS);
  await broker.up();
  const again = await broker.watch(all);
  await passing(clock, 1_000, () => store.waiting === 0, roundTrip);
  await expect.poll(() => again.documents("payment")).toMatchObject([{ attempt: 2 }]);
  expect(online()).toBe(2);
  await steady();

  // Stopped in the middle it takes what comes and answers nothing.
  const losses = () => lines.filter((line) => line.includes("there is no connection")).length;
  const before = losses();
  broker.signal("SIGSTOP");
  tpManager.payment("charged", { attempt: 3 });
  await passing(clock, 5_000, () => losses() > before);
  expect(store.waiting).toBe(1);
  broker.signal("SIGCONT");
  await passing(clock, 1_000, () => store.waiting === 0, roundTrip);
  const ids = () => new Set(again.documents("payment").map(({ id }) => id)).size;
  await expect.poll(ids).toBe(2);
});

inMosquitto("a twin that takes the session: an alarm, and a wait of minutes", async () => {
  const broker = await Mosquitto.made();
  await broker.up();
  const rigs = [1, 2].map(() => openFleet({ url: broker.url, commands: true }));
  for (const { fleet } of rigs) fleet.start();
  const alarmed = ({ lines }: (typeof rigs)[number]) =>
    lines.some((line) => line.includes('"alarm":"fleet-twin"'));
  const births = ({ lines }: (typeof rigs)[number]) =>
    lines.filter((line) => line.includes("connected to the fleet")).length;
  // They throw each other out, until one of them waits for five minutes at least.
  for (let steps = 0; !rigs.some(alarmed); steps++) {
    expect(steps).toBeLessThan(1_000);
    for (const { clock } of rigs) await clock.advance(500);
    await broker.roundTrip();
    await setTimeout(10);
  }
  const waiting = rigs.filter(alarmed);
  const before = waiting.map(births);
  expect(Math.max(...rigs.map(births))).toBeLessThanOrEqual(4);
  for (const { clock } of waiting) await clock.advance(4.9 * 60_000);
  // A connection that began would be known to the broker before the answer to a later request.
  await broker.roundTrip();
  await broker.roundTrip();
  expect(waiting.map(births)).toEqual(before);
  const [one] = waiting;
  const isBack = () => one === undefined || births(one) > (before[0] ?? 0);
  if (one) await passing(one.clock, 5_000, isBack, () => broker.roundTrip());
});

inMosquitto("a kiosk without power is shown as lost within 1.5 times the keep-alive", async () => {
  const broker = await Mosquitto.made();
  await broker.up();
  const keepAliveSeconds = 2;
  const watched = await broker.watch(all);
  // The clock stands still: no sign of life leaves the kiosk, and its line stays open.
  const { fleet } = openFleet({ url: broker.url, broker: { keepAliveSeconds } });
  fleet.start();
  await expect.poll(() => watched.connections).toEqual(["online"]);
  const fromMs = performance.now();
  await expect.poll(() => watched.connections, poll).toContain("lost");
  // mosquitto 2.0.11 looks for silent clients only every few seconds.
  expect(performance.now() - fromMs).toBeLessThan(asSlow(1_500 * keepAliveSeconds + 7_000));
});
