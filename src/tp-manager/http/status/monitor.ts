import { type Trouble, troublesOf } from "../../../shared/catalog/troubles.ts";
import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { EventData } from "../../attempts/event-table.ts";
import type { Attempt, AttemptStep } from "../../attempts/payment.ts";
import type { HandOff } from "../../supervisor/hand-off.ts";
import type { StoreGuard } from "../../supervisor/store-guard.ts";
import type { EventHub } from "../events/event-hub.ts";
import { TerminalWatch } from "../events/terminal-watch.ts";
import {
  type ArbiterFacts,
  type Health,
  healthOf,
  type JournalCounts,
  type SupervisorStatus,
} from "./health.ts";
import { Metrics } from "./metrics.ts";
import { ownTroubles } from "./own-troubles.ts";

interface MonitorParts {
  readonly hub: EventHub;
  readonly arbiter: ArbiterFacts;
  readonly journal: JournalCounts & {
    readonly attempts: { onStep: (attempt: Attempt, step: AttemptStep) => void };
  };
  readonly guard: Pick<StoreGuard, "open">;
  readonly handOff: Pick<HandOff, "trouble">;
  readonly supervisor: () => Promise<SupervisorStatus>;
  readonly dataDirectory: string;
  readonly choresAt: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Enough to find the alarm of a trouble that has lasted for long. */
const ALARMS_READ = 200;

/** The watch over tp-manager from inside: events, readiness, figures. */
export class Monitor {
  readonly hub: EventHub;
  readonly watch: TerminalWatch;
  readonly metrics: Metrics;
  readonly #parts: MonitorParts;
  #prompt: EventData<"prompt"> | undefined;

  constructor(parts: MonitorParts) {
    const { hub, arbiter, journal, clock, supervisor, handOff } = parts;
    this.#parts = parts;
    this.hub = hub;
    this.watch = new TerminalWatch(arbiter.terminal, clock, hub.announce);
    this.metrics = new Metrics({
      hub,
      watch: this.watch,
      counts: journal,
      supervisor,
      handOff,
      arbiter,
      clock,
    });
    hub.subscribe(({ name, data }) => {
      if (name === "prompt") this.#prompt = data;
      // The order's next attempt has begun, or its sale is over.
      else if (name === "payment" && data.orderId === this.#prompt?.orderId) {
        this.#prompt = undefined;
      }
    });
    journal.attempts.onStep = (attempt, step) => this.metrics.step(attempt, step);
  }

  health(): Promise<Health> {
    const { journal, choresAt, hub, ...others } = this.#parts;
    return healthOf({
      ...others,
      counts: journal,
      alarms: () => hub.source.alarms(ALARMS_READ),
      // A prompt belongs to one payment: that of an earlier one says nothing.
      promptOf: (orderId) => (this.#prompt?.orderId === orderId ? this.#prompt : null),
      terminal: () => this.watch.now,
      identity: () => others.arbiter.terminal.state.identity,
      choresAt,
    });
  }

  /** Troubles between the journal and the gateway (shared/catalog/troubles.ts). */
  async troubles(): Promise<Trouble[]> {
    const supervisor = await this.#parts.supervisor().catch(() => null);
    const { handOff, journal, clock, arbiter } = this.#parts;
    const tpManager = ownTroubles({ handOff, clock, arbiter, ...journal });
    return troublesOf({ supervisor, tpManager });
  }

  close(): void {
    this.watch.close();
  }
}
