import type { Logger } from "../../../shared/logger.ts";
import { maskPansInText } from "../../../shared/mask.ts";
import type { Clock } from "../../../shared/time.ts";
import type { EventData, KeptEvent, PassingEvent } from "../../payments/event-table.ts";

export type HubEvent = KeptEvent | PassingEvent;
type Listener = (event: HubEvent) => void;

/** Where kept events are; `journal/` implements it. */
export interface EventSource {
  onEvent: (event: KeptEvent) => void;
  raise(alarm: EventData<"alarm">, atMs: number): void;
  readonly feed: {
    readonly lastId: number;
    after(id: number, limit: number): KeptEvent[];
    newest(name: KeptEvent["name"], limit: number): KeptEvent[];
  };
}

/** Of an alarm's text, which may quote what a terminal said. */
const MESSAGE_LENGTH_MAX = 500;

/**
 * Brings events from where they happen to those who listen. A listener that fails is logged and
 * harms nobody: events are told from the middle of a payment.
 */
export class EventHub {
  readonly source: EventSource;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #listeners = new Set<Listener>();
  #raising = false;

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

  /**
   * The logger with one more effect: a line that carries an `alarm` becomes an event, so that no
   * alarm can be logged and not told.
   */
  tap(log: Logger): Logger {
    const told = (level: "warn" | "error" | "fatal"): Logger["error"] =>
      ((detail: unknown, message?: string, ...more: unknown[]) => {
        log[level](detail as object, message, ...more);
        this.#raise(detail, message ?? "");
      }) as Logger["error"];
    return {
      debug: log.debug.bind(log),
      info: log.info.bind(log),
      warn: told("warn"),
      error: told("error"),
      fatal: told("fatal"),
    };
  }

  #raise(detail: unknown, message: string): void {
    const { alarm, orderId, transactionId } = (detail ?? {}) as Record<string, unknown>;
    if (typeof alarm !== "string" || this.#raising) return;
    const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
    this.#raising = true;
    try {
      this.source.raise(
        {
          alarm,
          message: maskPansInText(message).slice(0, MESSAGE_LENGTH_MAX),
          orderId: textOf(orderId),
          transactionId: textOf(transactionId),
        },
        this.#clock.now(),
      );
    } catch (error) {
      // The log has the alarm; a full disk is often what it is about.
      this.#log.error({ err: error }, "the journal did not take an alarm");
    } finally {
      this.#raising = false;
    }
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
