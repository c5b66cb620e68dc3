import type { Clock } from "../../shared/time.ts";

/** An event of the trace, without card data and passwords. */
interface TraceEvent extends TraceEntry {
  readonly seq: number;
  readonly at: string;
  readonly sinceStartMs: number;
  readonly line: string;
  readonly command?: string;
  readonly phase?: string;
}

export interface TraceEntry {
  readonly what: string;
  /** The direction as the terminal sees it: `in` comes from the register. */
  readonly direction?: "in" | "out";
  /** The message in hexadecimal digits, with two dots for each hidden byte. */
  readonly hex?: string;
  /** The message as text, with a bar between its fields. */
  readonly text?: string;
  readonly message?: string;
  readonly says?: string;
  readonly fields?: readonly TraceField[];
  /** How often this frame has been sent before. */
  readonly repeat?: number;
  readonly note?: string;
}

/** One field of a message; a card number is masked. */
export interface TraceField {
  /** The field's letters on the wire; missing: the field has no letters. */
  readonly tag?: string;
  readonly name: string;
  readonly value: string;
  readonly means?: string;
}

export type Whereabouts = Pick<TraceEvent, "command" | "phase">;

/** Keeps the last events, and passes each new event to every listener. */
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
    // Old events are removed rarely, because each removal copies the list.
    if (this.#events.length > 2 * this.#eventsMax) {
      this.#events = this.#events.slice(-this.#eventsMax);
    }
    for (const listener of this.#listeners) listener(added);
  }
}
