/**
 * Some kiosks of a crowd (crowd.ts), with the supervisor's own link and real sockets, in one
 * process that can be killed: node crowd-member.ts PORT FIRST COUNT SPREAD
 * A line "alarm" on standard input raises one alarm at each ninth kiosk at the same moment. A line
 * "night SHARE MS" restarts the kiosks that a rollout share newly reaches, each at its own minute
 * of the hour of updates, of which a minute takes MS.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { conditionsOf } from "../../src/shared/catalog/conditions.ts";
import { systemClock } from "../../src/shared/time.ts";
import { machineHere } from "../../src/supervisor/fleet/fleet-facts.ts";
import { FleetLink } from "../../src/supervisor/fleet/fleet-link.ts";
import { FleetNews } from "../../src/supervisor/fleet/fleet-news.ts";
import { stateOf } from "../../src/supervisor/fleet/fleet-state.ts";
import { openFleetStore } from "../../src/supervisor/fleet/fleet-store.ts";
import { mqttConnector } from "../../src/supervisor/fleet/mqtt-broker.ts";
import { ALARMING, reachedBy, updateMinute } from "./night.ts";

const [port = 0, first = 0, count = 0, spread = 1] = process.argv.slice(2).map(Number);
const log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} };
const clock = systemClock;
const folder = mkdtempSync(join(tmpdir(), "utc-crowd-"));
const machine = machineHere(folder, "stop", clock);
const files = { certificate: undefined, key: undefined, trusted: [] };
const storeIn = (name: string) => openFleetStore(join(folder, name), clock, log);
/** The store of the kiosks that queue nothing. */
const empty = storeIn("fleet.db");

/** What a kiosk reports whose oldest transaction waits for so long. */
function reported(oldestAgeMs: number | null) {
  const outbox = { pending: 0, parked: 0, sent: 0, oldestAgeMs, paused: null };
  const program = { program: "supervisor", version: "1.0.0", pid: 1, uptimeMs: 0 } as const;
  const supervisor = { ...program, outbox };
  const conditions = conditionsOf({ supervisor, tpManager: undefined });
  const state = stateOf({ tpManager: "silent", supervisor, conditions, dropped: 0, machine });
  return { state, conditions };
}
const calm = reported(null);
const alarming = reported(1_200_000);

class Kiosk {
  readonly index: number;
  readonly #store;
  #link: FleetLink;

  constructor(index: number) {
    this.index = index;
    this.#store = index % ALARMING === 0 ? storeIn(`${index}.db`) : empty;
    this.#link = this.#started();
  }

  alarm(): void {
    const news = new FleetNews(this.#store, `kiosk-${this.index}`, true);
    news.takeConditions(alarming.conditions, clock.now());
    this.#link.set(alarming.state);
  }

  async restart(): Promise<void> {
    await this.#link.stop();
    this.#link = this.#started();
  }

  #started(): FleetLink {
    const login = { user: undefined, password: undefined, commands: true };
    const broker = { url: `mqtt://127.0.0.1:${port}`, kiosk: `kiosk-${this.index}`, ...login };
    const random = (): number => Math.random() * spread;
    const parts = { broker, files: () => files, connect: mqttConnector(clock), labels: {} };
    const store = this.#store;
    const link = new FleetLink({ ...parts, onRequest: () => {}, store, clock, log, random });
    link.set(calm.state);
    link.start();
    return link;
  }
}

const kiosks = Array.from({ length: count }, (_, i) => new Kiosk(first + i));
let before = 0;
const input = createInterface({ input: process.stdin });
input.on("line", (line) => {
  const [what, share = 0, minuteMs = 0] = line.split(" ").map((part) => Number(part) || part);
  if (what === "alarm") {
    for (const kiosk of kiosks) if (kiosk.index % ALARMING === 0) kiosk.alarm();
    return;
  }
  for (const kiosk of kiosks.filter(({ index }) => reachedBy(index, before, Number(share)))) {
    setTimeout(() => void kiosk.restart(), updateMinute(kiosk.index) * Number(minuteMs));
  }
  before = Number(share);
});
// The process that started this one is gone.
input.on("close", () => process.exit());
