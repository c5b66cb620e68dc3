import type { ServerResponse } from "node:http";
import type { Logger } from "../../../shared/process/logger.ts";
import { type Clock, isoTime, type Timer } from "../../../shared/time.ts";
import type { EventData, PassingEvent } from "../../attempts/event-table.ts";
import type { EventHub, HubEvent } from "./event-hub.ts";

const HEARTBEAT_MS = 15_000;
/** After how long without taking anything a reader is cut off; it can reconnect. */
const BLOCKED_MAX_MS = 30_000;
/** The most passing events, such as prompts, that wait for a slow reader; the rest is dropped. */
const WAITING_MAX = 64;
/** How many events are read from the journal at once. */
const PAGE = 50;

/**
 * One reader of `GET /events`. Kept events are read from the journal after the last one written,
 * so a slow reader costs no memory; passing events wait in a short queue.
 *
 *   journal ──(page)──┐
 *                     ├── socket, until it is full; then on "drain"
 *   hub ──(queue)─────┘
 */
export class EventReader {
  readonly #response: ServerResponse;
  readonly #hub: EventHub;
  readonly #clock: Clock;
  readonly #waiting: PassingEvent[] = [];
  readonly #unsubscribe: () => void;
  readonly #log: Logger;
  #sentId: number;
  #blocked: Timer | undefined;
  #heartbeat: Timer | undefined;

  constructor(response: ServerResponse, hub: EventHub, clock: Clock, lastId: number, log: Logger) {
    this.#log = log;
    this.#response = response;
    this.#hub = hub;
    this.#clock = clock;
    this.#sentId = lastId;
    response.on("drain", () => this.#drained());
    response.on("close", () => this.#forget());
    this.#unsubscribe = hub.subscribe((event) => this.#take(event));
  }

  /** Sends the stream's first id, a gap if events are missing, and the terminal's state. */
  begin(terminal: EventData<"terminal">, gap: EventData<"gap"> | undefined): void {
    this.#response.flushHeaders();
    this.#write(`: events\nretry: 2000\nid: ${this.#sentId}\n\n`);
    if (gap) this.#take({ name: "gap", data: gap });
    this.#take({ name: "terminal", data: terminal });
    this.#pump();
    this.#beat();
  }

  end(): void {
    this.#forget();
    this.#response.end();
  }

  #take(event: HubEvent): void {
    if (!("id" in event)) {
      if (this.#waiting.length >= WAITING_MAX) this.#waiting.shift();
      this.#waiting.push(event);
    }
    this.#pump();
  }

  /** Sends what waits; a journal that cannot be read ends this stream only. */
  #pump(): void {
    try {
      this.#send();
    } catch (error) {
      this.#log.error({ err: error }, "a stream of events was ended by a fault");
      this.#response.destroy();
    }
  }

  #send(): void {
    while (!this.#blocked && !this.#response.destroyed) {
      const kept = this.#hub.source.after(this.#sentId, PAGE);
      for (const event of kept) {
        if (this.#blocked) return;
        this.#write(`id: ${event.id}\n${textOf(event, event.atMs)}`);
        this.#sentId = event.id;
      }
      if (kept.length === PAGE) continue;
      const passing = this.#waiting.shift();
      if (!passing) return;
      this.#write(textOf(passing, this.#clock.now()));
    }
  }

  #write(text: string): void {
    if (this.#response.destroyed || this.#response.write(text)) return;
    this.#blocked ??= this.#clock.startTimer("slow event reader", BLOCKED_MAX_MS, () =>
      this.#response.destroy(),
    );
  }

  #drained(): void {
    this.#blocked?.clear();
    this.#blocked = undefined;
    this.#pump();
  }

  #beat(): void {
    this.#heartbeat = this.#clock.startTimer("event heartbeat", HEARTBEAT_MS, () => {
      if (!this.#blocked) this.#write(": heartbeat\n\n");
      this.#beat();
    });
  }

  #forget(): void {
    this.#unsubscribe();
    this.#blocked?.clear();
    this.#heartbeat?.clear();
    this.#waiting.length = 0;
  }
}

/** Returns an event's text; without an id before it the reader's Last-Event-ID stays as it is. */
function textOf({ name, data }: HubEvent, atMs: number): string {
  const body = JSON.stringify({ at: isoTime(atMs), ...data });
  return `event: ${name}\ndata: ${body}\n\n`;
}
