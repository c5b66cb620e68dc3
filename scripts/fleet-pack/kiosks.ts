/**
 * Simulated kiosks of a fleet, with the supervisor's own link, TLS and a login for each, until
 * standard input ends: node kiosks.ts FOLDER PORT FIRST COUNT
 * FOLDER has ca.pem, and in `logins` each kiosk's FLEET_ID and password, separated by a colon.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { conditionsOf } from "../../src/shared/catalog/conditions.ts";
import type { FleetNewsAnswer } from "../../src/shared/ipc/fleet-messages.ts";
import { systemClock } from "../../src/shared/time.ts";
import { type Outcome, outcomes } from "../../src/supervisor/fleet/documents.ts";
import { machineHere } from "../../src/supervisor/fleet/fleet-facts.ts";
import { FleetFigures } from "../../src/supervisor/fleet/fleet-figures.ts";
import { FleetLink } from "../../src/supervisor/fleet/fleet-link.ts";
import { stateOf } from "../../src/supervisor/fleet/fleet-state.ts";
import { openFleetStore } from "../../src/supervisor/fleet/fleet-store.ts";
import { mqttConnector } from "../../src/supervisor/fleet/mqtt-broker.ts";

const [folder = "", port = "", first = "0", count = "0"] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} };
const clock = systemClock;
const store = openFleetStore(join(folder, `fleet-${first}.db`), clock, log);
const trusted = [readFileSync(join(folder, "ca.pem"), "utf8")];
const logins = readFileSync(join(folder, "logins"), "utf8").trim().split("\n");
const FIGURES_EVERY_MS = 10_000;
const version = "1.0.0";
const machine = machineHere(folder, "stop", clock);

logins.slice(Number(first), Number(first) + Number(count)).forEach((line, index) => {
  const [user = "", password] = line.split(":");
  const broker = {
    url: `mqtts://localhost:${port}`,
    kiosk: user,
    user,
    password,
    certificate: undefined,
    key: undefined,
    trusted,
    commands: false,
  };
  const connect = mqttConnector(clock);
  const { random } = Math;
  const parts = { broker, connect, onRequest: () => {}, labels: {}, store, clock, log, random };
  const link = new FleetLink(parts);
  const figures = new FleetFigures({ link, store, machine, kiosk: user, clock, log });
  // The first kiosk has a condition: its oldest transaction waits for 20 minutes.
  const oldestAgeMs = first === "0" && index === 0 ? 1_200_000 : null;
  const outbox = { pending: index % 4, parked: 0, sent: 0, oldestAgeMs, paused: null };
  const supervisor = { program: "supervisor", version, pid: 1, uptimeMs: 0, outbox } as const;
  const since = new Date().toISOString();
  const tpManager = {
    version,
    uptimeMs: 0,
    terminal: { link: "connected", state: "ready", since, terminalId: null },
    payments: { running: 0, inDoubt: 0, notHandedOver: 0 },
    troubles: { obstacles: [] },
  } as unknown as FleetNewsAnswer;
  const conditions = conditionsOf({ supervisor, tpManager: undefined });
  link.set(stateOf({ tpManager, supervisor, conditions, dropped: 0, machine }));
  link.start();
  let paid = 0;
  setInterval(() => {
    paid += 1;
    figures.measure({
      uptimeSeconds: { supervisor: Math.round(process.uptime()), tpManager: null },
      memoryBytes: process.memoryUsage.rss(),
      outbox: { pending: outbox.pending, parked: 0, sent: paid },
      payments: Object.fromEntries(outcomes.map((name) => [name, paid])) as Record<Outcome, number>,
      alarmsRaised: 0,
      queue: { waiting: 0, dropped: 0 },
    });
  }, FIGURES_EVERY_MS);
});
// The process that started this one is gone.
process.stdin.on("close", () => process.exit()).resume();
