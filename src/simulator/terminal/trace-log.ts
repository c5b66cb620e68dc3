import type { Clock } from "../../shared/time.ts";

/** An event on a wire, without card data and password. */
export interface TraceEvent extends TraceEntry {
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Milliseconds since the simulator started, for intervals. */
  readonly sinceStartMs: number;
  readonly line: string;
  /** The running command, and the moment that it has reached. */
  readonly command?: string;
  readonly phase?: string;
}

export interface TraceEntry {
  readonly what: string;
  /** As the terminal sees it: "in" comes from the register. */
  readonly direction?: "in" | "out";
  /** Message in hexadecimal with two dots for every byte that is not shown. */
  readonly hex?: string;
  /** A message of characters, with a bar between its fields. */
  readonly text?: string;
  readonly message?: string;
  /** The facts of the message in one line. */
  readonly says?: string;
  /** The fields of the message in their order. */
  readonly fields?: readonly TraceField[];
  /** How often this frame was sent before. */
  readonly repeat?: number;
  readonly note?: string;
}

/** One field of a message, without a card number. */
export interface TraceField {
  /** The field's letters on the wire, if it has any. */
  readonly tag?: string;
  readonly name: string;
  readonly value: string;
  /** The meaning of the value. */
  readonly means?: string;
}

/** The running command, and how far it is. */
type Whereabouts = Pick<TraceEvent, "command" | "phase">;

/** Keeps the last wire events and passes each one to every listener. */
export class TraceLog {
  readonly #clock: Clock;
  readonly #eventsMax: number;
  readonly #startMs: number;
  readonly #whereabouts: () => Whereabouts;
  readonly #listeners = new Set<(event: TraceEvent) => void>();
  #events: TraceEvent[] = [];
  #seq = 0;

  constructor(clock: Clock, eventsMax: number, whereabouts: () => Whereabouts) {
    this.#clock = clock;
    this.#eventsMax = eventsMax;
    this.#startMs = clock.monotonicMs();
    this.#whereabouts = whereabouts;
  }

  last(count: number): readonly TraceEvent[] {
    return count > 0 ? this.#events.slice(-count) : [];
  }

  /** Calls `listener` for every event until the returned function is called. */
  subscribe(listener: (event: TraceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  add(line: string, entry: TraceEntry): void {
    const added: TraceEvent = {
      seq: ++this.#seq,
      at: new Date(this.#clock.now()).toISOString(),
      sinceStartMs: Math.round((this.#clock.monotonicMs() - this.#startMs) * 10) / 10,
      line,
      ...entry,
      ...this.#whereabouts(),
    };
    this.#events.push(added);
    // The list is cut rarely, so that a long run does not copy the list for every event.
    if (this.#events.length > 2 * this.#eventsMax) {
      this.#events = this.#events.slice(-this.#eventsMax);
    }
    for (const listener of this.#listeners) listener(added);
  }
}
