import { conditionsOf } from "../../shared/catalog/conditions.ts";
import type { FleetNewsAnswer } from "../../shared/ipc/fleet-messages.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { Retrying } from "../../shared/process/retrying.ts";
import { type Clock, MINUTE_MS } from "../../shared/time.ts";
import type { SupervisorStatus } from "../intake/supervisor-status.ts";
import {
  allowed,
  type ContentOf,
  errorCodes,
  fleetDocuments,
  type Outcome,
  outcomes,
} from "./documents.ts";
import type { FleetMachine } from "./fleet-facts.ts";
import type { FleetFigures } from "./fleet-figures.ts";
import type { FleetLink } from "./fleet-link.ts";
import type { FleetNews } from "./fleet-news.ts";
import type { FleetRequests } from "./fleet-requests.ts";
import { stateOf, type TpManagerReply } from "./fleet-state.ts";
import type { FleetStore } from "./fleet-store.ts";

interface FleetParts {
  readonly link: FleetLink;
  readonly news: FleetNews;
  readonly requests: FleetRequests;
  readonly figures: FleetFigures;
  readonly store: FleetStore;
  readonly machine: FleetMachine;
  /** Asks tp-manager for its state, the events after an id, and its figures; never rejects. */
  readonly ask: (after: number | null, figures: boolean) => Promise<TpManagerReply>;
  readonly status: () => SupervisorStatus;
  readonly clock: Clock;
  readonly log: AlarmLog;
  readonly random: () => number;
}

const FLEET_ROUND_MS = 5_000;

/**
 * Publishes the kiosk's state, alarms and figures to a fleet (docs/fleet.md 1.1). It reads the
 * state of both programs every few seconds; no payment waits for it.
 */
export class Fleet {
  readonly #parts: FleetParts;
  readonly #rounds: Retrying;
  #measureAtMs = 0;

  constructor(parts: FleetParts) {
    this.#parts = parts;
    this.#rounds = new Retrying(parts.clock, "fleet round", () =>
      this.#run().then(() => FLEET_ROUND_MS),
    );
  }

  start(): void {
    const { link, clock, random } = this.#parts;
    // The first figures are measured at a random time, because many kiosks may start at once.
    this.#measureAtMs = clock.monotonicMs() + MINUTE_MS * random();
    this.#rounds.nudge();
    link.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.close();
    await this.#parts.link.stop();
  }

  async #run(): Promise<void> {
    const { news, ask, log, clock } = this.#parts;
    try {
      const isDue = clock.monotonicMs() >= this.#measureAtMs;
      const reply = await ask(news.after, isDue);
      if (!this.#rounds.isClosed) this.#publish(reply, isDue);
    } catch (error) {
      log.warn({ err: error }, "the state of the kiosk could not be sent to the fleet");
    }
  }

  #publish(tpManager: TpManagerReply, isDue: boolean): void {
    const { link, news, requests, figures, status, clock, machine } = this.#parts;
    const supervisor = status();
    const answer = typeof tpManager === "string" ? undefined : tpManager;
    if (answer) news.take(answer);
    requests.endHolds();
    const conditions = conditionsOf({ supervisor, tpManager: answer?.troubles });
    // If tp-manager did not answer, it is not known which of its conditions have ended.
    if (answer) news.takeConditions(conditions, clock.now());
    const { dropped } = this.#queue;
    link.set(stateOf({ tpManager, supervisor, conditions, dropped, machine }));
    if (tpManager === "silent" || answer?.payments.running === 0) void link.renew();
    if (isDue) {
      // A round that comes late does not move the minute.
      this.#measureAtMs = Math.max(this.#measureAtMs + MINUTE_MS, clock.monotonicMs());
      figures.measure(this.#figures(supervisor, answer));
    }
    figures.sendLate();
  }

  get #queue() {
    const { store } = this.#parts;
    return { waiting: store.waiting, dropped: store.figure("dropped") ?? 0 };
  }

  #figures(
    { uptimeMs, outbox: { pending, parked, sent }, clockAheadSeconds: ahead }: SupervisorStatus,
    tpManager: FleetNewsAnswer | undefined,
  ): Omit<ContentOf<"metrics">, "number"> {
    const { store, machine, link } = this.#parts;
    const { shape } = fleetDocuments.metrics.schema;
    const seconds = (ms: number): number => Math.max(Math.round(ms / 1000), 0);
    const payments = Object.fromEntries(
      outcomes.map((name) => [name, store.figure(`payments ${name}`) ?? 0]),
    ) as Record<Outcome, number>;
    const errors = errorCodes.map((code) => [code, store.figure(`errors ${code}`)] as const);
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
      diskFreeBytes: machine.diskFreeBytes(),
      clockAheadSeconds: allowed(shape.clockAheadSeconds.unwrap(), ahead),
      errors: Object.fromEntries(errors.filter(([, count]) => count !== undefined)),
      linksLost: { terminal: tpManager?.figures?.linksLost ?? null, broker: link.losses },
      phases: allowed(shape.phases.unwrap(), tpManager?.figures?.phases ?? null),
    };
  }
}
