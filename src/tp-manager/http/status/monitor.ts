import { type Condition, conditionsOf } from "../../../shared/catalog/conditions.ts";
import type { EventData } from "../../attempts/event-table.ts";
import type { EventHub } from "../events/event-hub.ts";
import { TerminalWatch } from "../events/terminal-watch.ts";
import { ownConditions, type Watched } from "./facts.ts";
import { type Health, healthOf } from "./health.ts";
import { Metrics } from "./metrics.ts";

/**
 * Answers `/health`, `/metrics` and the events of tp-manager from its facts. Raises no alarm
 * itself; ConditionWatch raises the alarms of conditions.
 */
export class Monitor {
  readonly hub: EventHub;
  readonly watch: TerminalWatch;
  readonly metrics: Metrics;
  readonly #watched: Watched;
  #prompt: EventData<"prompt"> | undefined;

  constructor(watched: Watched) {
    const { hub, arbiter, journal, clock } = watched;
    this.#watched = watched;
    this.hub = hub;
    this.watch = new TerminalWatch(arbiter.terminal, clock, hub.announce);
    this.metrics = new Metrics(watched, this.watch);
    hub.subscribe(({ name, data }) => {
      if (name === "prompt") this.#prompt = data;
      // The stored prompt is over: its order has a new attempt, or its sale has ended.
      else if (name === "payment" && data.orderId === this.#prompt?.orderId) {
        this.#prompt = undefined;
      }
    });
    journal.attempts.onStep = this.metrics.step;
  }

  health(): Promise<Health> {
    return healthOf(this.#watched, this.watch, this.#prompt);
  }

  /** Returns the conditions that are present now. Rejects if the journal cannot be read. */
  async conditions(): Promise<Condition[]> {
    const supervisor = await this.#watched.supervisor().catch(() => null);
    return conditionsOf({ supervisor, tpManager: ownConditions(this.#watched) });
  }

  close(): void {
    this.watch.close();
  }
}
