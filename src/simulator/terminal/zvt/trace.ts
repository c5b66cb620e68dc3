import type { Clock } from "../../../shared/time.ts";
import { decodeApdu, messageTitle, safeHex } from "../../../zvt/index.ts";
import { hasTrueLength } from "./link/apdu-reader.ts";
import type { WireEvent } from "./link/line.ts";

/** One thing that happened on a wire, safe to show: no card data, no password. */
export interface TraceEvent {
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Milliseconds since the simulator started, for intervals. */
  readonly sinceStartMs: number;
  readonly line: string;
  readonly what: WireEvent["what"] | "phase";
  /** Seen from the terminal: "in" comes from the register. */
  readonly direction?: "in" | "out";
  /** Message in hexadecimal with two dots for every byte that is not shown. */
  readonly hex?: string;
  /** `060f completion`. */
  readonly message?: string;
  /** How often this frame was sent before. */
  readonly repeat?: number;
  readonly note?: string;
  /** Control field of the running command, and how far it is. */
  readonly command?: string;
  readonly phase?: string;
}

/** Where the terminal is when something happens on a wire. */
export interface Whereabouts {
  readonly command?: string;
  readonly phase?: string;
  /** For messages that can only be read with the command that they answer (docs/zvt.md 6.5). */
  readonly control?: number;
}

/** Keeps the last wire events and tells each one to whoever listens. */
export class Trace {
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

  wire(line: string, event: WireEvent): void {
    const { control, ...where } = this.#whereabouts();
    this.#add(line, { ...describe(event, control), ...where });
  }

  /** A command reached a moment (see the fault table); so that a harness can act there. */
  phase(line: string): void {
    const { control: _, ...where } = this.#whereabouts();
    this.#add(line, { what: "phase", ...where });
  }

  #add(line: string, event: Omit<TraceEvent, "seq" | "at" | "sinceStartMs" | "line">): void {
    const added: TraceEvent = {
      seq: ++this.#seq,
      at: new Date(this.#clock.now()).toISOString(),
      sinceStartMs: Math.round((this.#clock.monotonicMs() - this.#startMs) * 10) / 10,
      line,
      ...event,
    };
    this.#events.push(added);
    // Cut rarely, so that a long run does not copy the list for every event.
    if (this.#events.length > 2 * this.#eventsMax) {
      this.#events = this.#events.slice(-this.#eventsMax);
    }
    for (const listener of this.#listeners) listener(added);
  }
}

function describe(
  event: WireEvent,
  answering: number | undefined,
): Omit<TraceEvent, "seq" | "at" | "sinceStartMs" | "line"> {
  switch (event.what) {
    case "open":
    case "close":
      return { what: event.what };
    case "ack":
    case "nak":
      return { what: event.what, direction: event.direction };
    case "apdu":
      return {
        what: event.what,
        direction: event.direction,
        ...apduForm(event.apdu, answering),
        ...(event.repeat > 0 ? { repeat: event.repeat } : {}),
      };
    case "speed":
      return { what: event.what, note: event.note };
    default:
      return { what: event.what, direction: event.direction, note: event.note };
  }
}

function apduForm(bytes: Uint8Array, answering: number | undefined) {
  if (!hasTrueLength(bytes)) {
    return { message: "a message with a wrong length", note: `${bytes.length} bytes` };
  }
  const apdu = decodeApdu(bytes);
  const context = answering === undefined ? {} : { answering };
  return { hex: safeHex(apdu, context), message: messageTitle(apdu, context) };
}
