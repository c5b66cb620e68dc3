import type { FleetNewsAnswer } from "../../shared/ipc/fleet-messages.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock, Timer } from "../../shared/time.ts";
import type { SupervisorStatus } from "../intake/supervisor-status.ts";
import type { BrokerSettings, ConnectToBroker } from "./broker.ts";
import { type DocumentOf, type Outcome, outcomes } from "./documents.ts";
import { FleetLink } from "./fleet-link.ts";
import { FleetNews } from "./fleet-news.ts";
import { FleetRequests, type FleetUpdates, type UploadBundle } from "./fleet-requests.ts";
import { conditionsNow, type StateFacts, stateOf, type TpManagerWord } from "./fleet-state.ts";
import type { FleetStore } from "./fleet-store.ts";

export interface FleetParts {
  readonly broker: BrokerSettings;
  readonly connect: ConnectToBroker;
  readonly store: FleetStore;
  /** FLEET_PAYMENTS. */
  readonly payments: boolean;
  /** Asks tp-manager for its readiness and the events behind an id; never rejects. */
  readonly ask: (after: number | null) => Promise<TpManagerWord>;
  readonly status: () => SupervisorStatus;
  readonly updates?: FleetUpdates | undefined;
  readonly upload?: UploadBundle | undefined;
  /** Makes a request that was taken an event of the kiosk. */
  readonly note: (ask: string, id: string) => void;
  readonly clock: Clock;
  /** Its alarms are stored. */
  readonly log: Logger;
  readonly chance: () => number;
}

export const FLEET_LOOK_MS = 5_000;
const METRICS_EVERY_MS = 300_000;

/**
 * Tells a fleet how this kiosk is (docs/fleet.md 1.1). Looks every few seconds at what both
 * programs tell anyhow; no payment waits for it, and no step of one is told from here.
 */
export class Fleet {
  readonly #parts: FleetParts;
  readonly #link: FleetLink;
  readonly #news: FleetNews;
  readonly #requests: FleetRequests;
  #timer: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();
  #metricsAtMs = 0;
  #stopped = false;

  constructor(parts: FleetParts) {
    const { broker, store, payments, upload, updates, note, clock, log } = parts;
    this.#parts = parts;
    this.#link = new FleetLink({
      ...parts,
      received: (message) => {
        if (broker.commands) void this.#requests.take(message);
      },
    });
    this.#news = new FleetNews(store, broker.kiosk, payments);
    this.#requests = new FleetRequests({
      store,
      upload,
      updates,
      note,
      clock,
      log,
      repeatState: () => this.#link.repeatState(),
      reply: (reply) => this.#link.tell("reply", reply),
    });
  }

  /** The first look comes at once; the connection is tried with it. */
  start(): void {
    const { clock, chance } = this.#parts;
    // Kiosks that are switched on together do not tell their figures together.
    this.#metricsAtMs = clock.monotonicMs() + METRICS_EVERY_MS * chance();
    this.#looking = this.#look();
    this.#link.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.clear();
    await this.#looking;
    await this.#link.stop();
  }

  async #look(): Promise<void> {
    const { ask, clock, log } = this.#parts;
    try {
      const word = await ask(this.#news.after);
      if (!this.#stopped) this.#tell(word);
    } catch (error) {
      log.warn({ err: error }, "the fleet is not told how the kiosk is");
    }
    if (this.#stopped) return;
    this.#timer = clock.startTimer("fleet look", FLEET_LOOK_MS, () => {
      this.#looking = this.#look();
    });
  }

  #tell(tpManager: TpManagerWord): void {
    const { store, status, clock } = this.#parts;
    const supervisor = status();
    if (typeof tpManager !== "string") this.#news.take(tpManager);
    this.#requests.endHolds();
    const facts: StateFacts = { tpManager, supervisor, dropped: this.#queue.dropped };
    // While tp-manager is silent nobody knows which of its troubles are over.
    if (typeof tpManager !== "string") this.#news.takeConditions(conditionsNow(facts), clock.now());
    this.#link.set(stateOf({ ...facts, dropped: this.#queue.dropped }));
    if (clock.monotonicMs() < this.#metricsAtMs) return;
    this.#metricsAtMs = clock.monotonicMs() + METRICS_EVERY_MS;
    const told = typeof tpManager === "string" ? undefined : tpManager;
    if (this.#link.isOnline)
      void this.#link.tell("metrics", this.#figures(supervisor, told, store));
  }

  get #queue() {
    const { store } = this.#parts;
    return { waiting: store.waiting, dropped: store.figure("dropped") ?? 0 };
  }

  #figures(
    { uptimeMs, outbox: { pending, parked, sent } }: SupervisorStatus,
    tpManager: FleetNewsAnswer | undefined,
    store: FleetStore,
  ): Omit<DocumentOf<"metrics">, "version" | "id" | "kiosk" | "at"> {
    const seconds = (ms: number): number => Math.max(Math.round(ms / 1000), 0);
    const payments = Object.fromEntries(
      outcomes.map((name) => [name, store.figure(`payments ${name}`) ?? 0]),
    ) as Record<Outcome, number>;
    return {
      uptimeSeconds: {
        supervisor: seconds(uptimeMs),
        tpManager: tpManager ? seconds(tpManager.uptimeMs) : null,
      },
      memoryBytes: process.memoryUsage.rss(),
      outbox: { pending, parked, sent },
      payments,
      alarmsRaised: store.figure("alarms") ?? 0,
      queue: this.#queue,
    };
  }
}
