/**
 * Some kiosks of a crowd (crowd.ts), with the supervisor's own link and real sockets, in one
 * process that can be killed: node crowd-member.ts PORT FIRST COUNT SPREAD
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/shared/time.ts";
import { machineHere } from "../../src/supervisor/fleet/fleet-facts.ts";
import { FleetLink } from "../../src/supervisor/fleet/fleet-link.ts";
import { stateOf } from "../../src/supervisor/fleet/fleet-state.ts";
import { openFleetStore } from "../../src/supervisor/fleet/fleet-store.ts";
import { mqttConnector } from "../../src/supervisor/fleet/mqtt-broker.ts";

const [port = 0, first = 0, count = 0, spread = 1] = process.argv.slice(2).map(Number);
const log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} };
const clock = systemClock;
const folder = mkdtempSync(join(tmpdir(), "utc-crowd-"));
const store = openFleetStore(join(folder, "fleet.db"), clock, log);
const outbox = { pending: 0, parked: 0, sent: 0, oldestAgeMs: null, paused: null };
const supervisor = {
  program: "supervisor",
  version: "1.0.0",
  pid: 1,
  uptimeMs: 0,
  outbox,
} as const;
const machine = machineHere(folder, "stop", clock);
const state = stateOf({ tpManager: "silent", supervisor, conditions: [], dropped: 0, machine });
const login = { user: undefined, password: undefined };
const files = { certificate: undefined, key: undefined, trusted: [] };

for (let i = first; i < first + count; i++) {
  const url = `mqtt://127.0.0.1:${port}`;
  const broker = { url, kiosk: `kiosk-${i}`, ...login, commands: true };
  const random = (): number => Math.random() * spread;
  const connect = mqttConnector(clock);
  const onRequest = (): void => {};
  const parts = { broker, connect, onRequest, labels: {}, store, clock, log, random };
  const link = new FleetLink({ ...parts, files: () => files });
  link.set(state);
  link.start();
}
// The process that started this one is gone.
process.stdin.on("close", () => process.exit()).resume();
