/**
 * Simulated kiosks of a fleet, with the supervisor's own link, TLS and a login for each, until
 * standard input ends: node kiosks.ts FOLDER FIRST COUNT
 * `fleet enrol` has made FOLDER, with the access of kiosk-1, kiosk-2 and so on.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { conditionsOf } from "../../src/shared/catalog/conditions.ts";
import { readEntries } from "../../src/shared/config/config-file.ts";
import { type FleetNewsAnswer, PHASE_SECONDS } from "../../src/shared/ipc/fleet-messages.ts";
import { newId } from "../../src/shared/new-id.ts";
import { isoTime, systemClock } from "../../src/shared/time.ts";
import { type ContentOf, type Outcome, outcomes } from "../../src/supervisor/fleet/documents.ts";
import { machineHere } from "../../src/supervisor/fleet/fleet-facts.ts";
import { FleetFigures } from "../../src/supervisor/fleet/fleet-figures.ts";
import { FleetLink } from "../../src/supervisor/fleet/fleet-link.ts";
import { stateOf } from "../../src/supervisor/fleet/fleet-state.ts";
import { type Measured, openFleetStore } from "../../src/supervisor/fleet/fleet-store.ts";
import { mqttConnector } from "../../src/supervisor/fleet/mqtt-broker.ts";

const [folder = "", first = "1", count = "0"] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} };
const clock = systemClock;
const trusted = [readFileSync(join(folder, "ca.pem"), "utf8")];
const files = { certificate: undefined, key: undefined, trusted };
const FIGURES_EVERY_MS = 10_000;
/** How long kiosk-1 was away, and how often it sends figures of that time: a kiosk every 5 s. */
const MINUTES_AWAY = 360;
const LATE_EVERY_MS = 20;
const version = "1.0.0";
const machine = machineHere(folder, "stop", clock);

for (let index = 0; index < Number(count); index++) {
  const kiosk = `kiosk-${Number(first) + index}`;
  const { FLEET_URL: url = "", FLEET_USER: user, FLEET_PASSWORD: password } = linesOf(kiosk);
  const broker = { url, kiosk, user, password, commands: false };
  const connect = mqttConnector(clock);
  const { random } = Math;
  const store = openFleetStore(join(folder, `${kiosk}.db`), clock, log);
  const labels = { site: index % 2 ? "basel" : "bern" };
  const parts = { broker, connect, onRequest: () => {}, labels, store, clock, log, random };
  // The first kiosk has raised an alarm.
  const atMs = clock.now();
  const head = { version: 1, id: newId(), kiosk, at: isoTime(atMs) } as const;
  const alarm = { alarm: "order-charged-twice", phase: "raised", source: "tp-manager" } as const;
  if (kiosk === "kiosk-1") store.add("alarm", atMs, { ...head, ...alarm, transactionId: null });
  const link = new FleetLink({ ...parts, files: () => files });
  const figures = new FleetFigures({ link, store, machine, kiosk, clock, log });
  // The first kiosk has a condition: its oldest transaction waits for 20 minutes.
  const oldestAgeMs = kiosk === "kiosk-1" ? 1_200_000 : null;
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
  const of = (paid: number) => figuresAfter(paid, outbox.pending);
  let paid = 0;
  if (kiosk === "kiosk-1") {
    for (; paid < MINUTES_AWAY; paid++)
      store.keep(measuredAgo(MINUTES_AWAY - paid, kiosk, of(paid)));
    setInterval(() => figures.sendLate(), LATE_EVERY_MS);
  }
  setInterval(() => {
    paid += 1;
    figures.measure(of(paid));
  }, FIGURES_EVERY_MS);
}

function figuresAfter(paid: number, pending: number): Omit<ContentOf<"metrics">, "number"> {
  return {
    uptimeSeconds: { supervisor: Math.round(process.uptime()), tpManager: null },
    memoryBytes: process.memoryUsage.rss(),
    outbox: { pending, parked: 0, sent: paid },
    payments: Object.fromEntries(outcomes.map((name) => [name, paid])) as Record<Outcome, number>,
    alarmsRaised: 0,
    queue: { waiting: 0, dropped: 0 },
    diskFreeBytes: machine.diskFreeBytes(),
    clockAheadSeconds: 0,
    errors: { CUSTOMER_TIMEOUT: paid },
    linksLost: { terminal: 0, broker: 0 },
    phases: { whole: { count: paid, sumMs: paid * 2_000, buckets: bucketsOf(paid) } },
  };
}

/** Returns figures that wait since then; the clock was an hour slow, and has been set since. */
function measuredAgo(minutes: number, kiosk: string, figures: object): Measured {
  const ageMs = minutes * 60_000;
  const atMs = clock.now() - ageMs - 3_600_000;
  const text = JSON.stringify({ version: 1, id: newId(), kiosk, at: isoTime(atMs), ...figures });
  return { atMs, boot: machine.boot, upMs: machine.upMs() - ageMs, text };
}

/** Each payment takes two seconds. */
function bucketsOf(paid: number): Record<string, number> {
  return Object.fromEntries(
    PHASE_SECONDS.map((seconds) => [Math.round(seconds * 1_000), seconds < 2 ? 0 : paid]),
  );
}

function linesOf(kiosk: string): Partial<Record<string, string>> {
  const text = readFileSync(join(folder, "kiosks", kiosk, "fleet.txt"), "utf8");
  return Object.fromEntries(readEntries(text).entries.map(({ name, value }) => [name, value]));
}

// The process that started this one is gone.
process.stdin.on("close", () => process.exit()).resume();
