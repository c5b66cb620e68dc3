import { tapAlarms } from "../../../shared/catalog/alarm-log.ts";
import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { EventData, KeptEvent, PassingEvent } from "../../attempts/event-table.ts";

export type HubEvent = KeptEvent | PassingEvent;
type Listener = (event: HubEvent) => void;

/** Where kept events are; `journal/` implements it. */
export interface EventSource {
  onEvent: (event: KeptEvent) => void;
  raise(alarm: EventData<"alarm">, atMs: number): void;
  readonly lastId: number;
  after(id: number, limit: number): KeptEvent[];
  /** The newest alarms, newest first. */
  alarms(limit: number): KeptEvent[];
}

/**
 * Brings events from where they happen to those who listen. A listener that fails is logged and
 * harms nobody: events are told from the middle of a payment.
 */
export class EventHub {
  readonly source: EventSource;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #listeners = new Set<Listener>();

  constructor(source: EventSource, clock: Clock, log: Logger) {
    this.source = source;
    this.#clock = clock;
    this.#log = log;
    source.onEvent = (event) => this.#tell(event);
  }

  readonly announce = (event: PassingEvent): void => this.#tell(event);

  /** Calls `listener` for every event from now on, until the returned function is called. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A logger whose alarms become events. */
  tap(log: Logger): Logger {
    return tapAlarms(log, ({ about: _, ...alarm }) =>
      this.source.raise({ ...alarm, source: "tp-manager" }, this.#clock.now()),
    );
  }

  #tell(event: HubEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error({ err: error, event: event.name }, "a listener of events failed");
      }
    }
  }
}
