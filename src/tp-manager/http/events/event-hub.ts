import { tapAlarms } from "../../../shared/catalog/alarm-log.ts";
import type { AlarmLog, Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { KeptEvent, PassingEvent } from "../../attempts/event-table.ts";
import type { EventRows } from "../../journal/event-rows.ts";

export type HubEvent = KeptEvent | PassingEvent;
type Listener = (event: HubEvent) => void;

/** Passes events to listeners. A listener that fails is only logged, so that payments go on. */
export class EventHub {
  readonly source: EventRows;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #listeners = new Set<Listener>();

  constructor(source: EventRows, clock: Clock, log: Logger) {
    this.source = source;
    this.#clock = clock;
    this.#log = log;
    source.onEvent = this.announce;
  }

  readonly announce = (event: HubEvent): void => {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error({ err: error, event: event.name }, "the program failed to handle an event");
      }
    }
  };

  /** Calls `listener` for every event from now on, until the returned function is called. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Returns a logger whose alarms become events. */
  tap(log: Logger): AlarmLog {
    return tapAlarms(log, ({ about: _, ...alarm }) =>
      this.source.raise({ ...alarm, source: "tp-manager" }, this.#clock.now()),
    );
  }
}
