import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { FleetNewsAnswer } from "../../../src/shared/ipc/fleet-messages.ts";
import type { BrokerFiles, BrokerSettings } from "../../../src/supervisor/fleet/broker.ts";
import { Fleet } from "../../../src/supervisor/fleet/fleet.ts";
import { type FleetMachine, machineHere } from "../../../src/supervisor/fleet/fleet-facts.ts";
import { FleetFigures } from "../../../src/supervisor/fleet/fleet-figures.ts";
import { FleetLink } from "../../../src/supervisor/fleet/fleet-link.ts";
import { FleetNews } from "../../../src/supervisor/fleet/fleet-news.ts";
import {
  FleetRequests,
  type FleetUpdates,
  type UploadBundle,
} from "../../../src/supervisor/fleet/fleet-requests.ts";
import type { TpManagerReply } from "../../../src/supervisor/fleet/fleet-state.ts";
import { openFleetStore } from "../../../src/supervisor/fleet/fleet-store.ts";
import { mqttConnector } from "../../../src/supervisor/fleet/mqtt-broker.ts";
import type { SupervisorStatus } from "../../../src/supervisor/intake/supervisor-status.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { recordingLog } from "../../support/house/recording-log.ts";

export const KIOSK = "kiosk-7";
/** The time between two readings of the state of the kiosk. */
export const FLEET_ROUND_MS = 5_000;
export const TRANSACTION = "0c0ffee0-1111-4222-8333-444455556666";

type Event = FleetNewsAnswer["events"][number];

/** tp-manager as the fleet part sees it: its events, and how it is. */
class ScriptedTpManager {
  readonly events: Event[] = [];
  answer: Partial<FleetNewsAnswer> | "silent" | "slow" = {};
  phases: NonNullable<FleetNewsAnswer["figures"]>["phases"] = {};
  readonly #clock: TestClock;

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  emit(name: string, data: Record<string, unknown>): void {
    this.events.push({ id: this.events.length + 1, atMs: this.#clock.now(), name, data });
  }

  payment(state: string, more: Record<string, unknown> = {}): void {
    this.emit("payment", {
      orderId: "order of Ada Lovelace",
      transactionId: TRANSACTION,
      attempt: 1,
      state,
      charged: state === "charged" ? "yes" : "unknown",
      error: null,
      amountMinor: 1_250,
      chargedAmountMinor: null,
      currency: "EUR",
      ...more,
    });
  }

  readonly ask = (after: number | null, figures: boolean): Promise<TpManagerReply> => {
    const { answer } = this;
    if (typeof answer === "string") return Promise.resolve(answer);
    const since = "2026-01-15T12:00:00.000Z";
    return Promise.resolve({
      terminal: { link: "connected", state: "ready", since, terminalId: "12345678" },
      payments: { running: 0, inDoubt: 0, notHandedOver: 0 },
      troubles: { obstacles: [] },
      version: "1.0.0",
      uptimeMs: 1_000,
      startedAfter: "died",
      figures: figures ? { linksLost: 2, phases: this.phases } : undefined,
      lastId: this.events.length,
      events: after === null ? [] : this.events.filter(({ id }) => id > after).slice(0, 50),
      ...answer,
    });
  };
}

function supervisorStatus(): SupervisorStatus {
  return {
    program: "supervisor",
    version: "1.0.0",
    pid: 1,
    uptimeMs: 2_000,
    outbox: { pending: 0, parked: 0, sent: 3, oldestAgeMs: null, paused: null },
    certificateFiles: [{ setting: "FLEET_CA_FILE", ends: "2027-01-15T12:00:00.000Z" }],
    clockAheadSeconds: -3,
  };
}

interface RigOptions {
  readonly url: string;
  readonly payments?: boolean;
  readonly updates?: FleetUpdates;
  readonly upload?: UploadBundle;
  readonly note?: (ask: string, id: string) => void;
  readonly random?: () => number;
  readonly clock?: TestClock;
  readonly commands?: boolean;
  readonly path?: string;
  readonly broker?: Partial<BrokerSettings>;
  readonly files?: () => BrokerFiles | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  readonly machine?: Partial<FleetMachine>;
}

/** The fleet part in this process, with a clock that stands still, on a real socket. */
export function openFleet({ url, commands = false, broker: more, ...given }: RigOptions) {
  const clock = given.clock ?? new TestClock();
  const path = given.path ?? join(temporaryFolder(), "fleet.db");
  const { log, lines } = recordingLog();
  const store = openFleetStore(path, clock, log);
  const noted: string[] = [];
  const tpManager = new ScriptedTpManager(clock);
  const login = { user: "kiosk", password: "secret of the kiosk" };
  const broker = { url, kiosk: KIOSK, ...login, certificate: undefined, key: undefined };
  const settings = { ...broker, trusted: [], commands, ...more };
  const { random = () => 0.5, updates, upload, files = () => settings } = given;
  const link = new FleetLink({
    broker: settings,
    files,
    connect: mqttConnector(clock),
    onRequest: (message) => void requests.take(message),
    labels: given.labels ?? {},
    store,
    clock,
    log,
    random,
  });
  const { note = (ask, id) => void noted.push(`${ask} ${id}`) } = given;
  const actions = { updates, upload, note };
  const requests = new FleetRequests({ commands, link, store, ...actions, clock, log });
  const news = new FleetNews(store, KIOSK, given.payments ?? true);
  const { ask } = tpManager;
  const machine: FleetMachine = {
    ...machineHere(dirname(path), "stop", clock),
    // No change of the wall clock changes it.
    upMs: () => clock.monotonicMs(),
    ...given.machine,
  };
  const figures = new FleetFigures({ link, store, machine, kiosk: KIOSK, clock, log });
  const sources = { store, machine, ask, status: supervisorStatus, clock, log, random };
  const fleet = new Fleet({ link, news, requests, figures, ...sources });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopped ??= (async () => {
      let isOver = false;
      const ended = fleet.stop().then(() => (isOver = true));
      for (let i = 0; i < 20 && !isOver; i++) await setTimeout(5);
      // A broker that answers nothing is waited for a second, twice.
      await advanceUntil(clock, 50, () => isOver);
      await ended;
      store.close();
      await clock.advance(0);
      expect(clock.running).toEqual([]);
    })();
    return stopped;
  };
  onTestFinished(stop);
  const status = () => link.status;
  return { clock, path, lines, noted, store, tpManager, fleet, status, stop };
}

/** Moves the clock in steps, and lets the sockets do their part in between. */
export async function advanceUntil(
  clock: TestClock,
  stepMs: number,
  isEnough: () => boolean,
): Promise<void> {
  for (let steps = 0; !isEnough(); steps++) {
    expect(steps).toBeLessThan(20_000);
    await clock.advance(stepMs);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * The same with a broker in another process. Between the steps it has its turn: on a busy machine
 * the minutes of this clock would be over before it has answered.
 */
export async function passing(
  clock: TestClock,
  stepMs: number,
  isEnough: () => boolean,
  afterEach?: () => Promise<void>,
): Promise<void> {
  for (let steps = 0; !isEnough(); steps++) {
    expect(steps).toBeLessThan(5_000);
    await clock.advance(stepMs);
    await afterEach?.();
    await setTimeout(10);
  }
}
