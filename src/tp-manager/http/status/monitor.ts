import type { Logger } from "../../../shared/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { Attempt, AttemptEvent } from "../../attempts/payment.ts";
import type { EventHub } from "../events/event-hub.ts";
import { TerminalWatch } from "../events/terminal-watch.ts";
import {
  type DeskFacts,
  type Health,
  healthOf,
  type JournalCounts,
  type SupervisorStatus,
} from "./health.ts";
import { Metrics } from "./metrics.ts";

export interface MonitorParts {
  readonly hub: EventHub;
  readonly desk: DeskFacts;
  readonly journal: JournalCounts & {
    readonly attempts: { onStep: (attempt: Attempt, step: AttemptEvent) => void };
  };
  readonly supervisor: () => Promise<SupervisorStatus>;
  readonly dataDirectory: string;
  readonly choresAt: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** In `/health`. */
const ALARMS_SHOWN = 5;

/** The watch over tp-manager from inside: events, readiness, figures. */
export class Monitor {
  readonly hub: EventHub;
  readonly watch: TerminalWatch;
  readonly metrics: Metrics;
  readonly #parts: MonitorParts;

  constructor(parts: MonitorParts) {
    const { hub, desk, journal, clock, supervisor } = parts;
    this.#parts = parts;
    this.hub = hub;
    this.watch = new TerminalWatch(desk.terminal, clock, hub.announce);
    this.metrics = new Metrics({ hub, watch: this.watch, counts: journal, supervisor });
    journal.attempts.onStep = (attempt, step) => this.metrics.step(attempt, step);
  }

  health(): Promise<Health> {
    const { journal, choresAt, hub, ...others } = this.#parts;
    return healthOf({
      ...others,
      counts: journal,
      alarms: () => hub.source.newest("alarm", ALARMS_SHOWN),
      terminal: () => this.watch.now,
      identity: () => others.desk.terminal.state.identity,
      choresAt,
    });
  }

  close(): void {
    this.watch.close();
  }
}
