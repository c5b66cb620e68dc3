import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { AppError } from "../../../shared/catalog/errors.ts";
import type { Logger } from "../../../shared/process/logger.ts";
import { type Clock, isoTime, type Timer } from "../../../shared/time.ts";
import type { EventData, PassingEvent } from "../../attempts/event-table.ts";
import type { EventRows } from "../../journal/event-rows.ts";
import type { Monitor } from "../status/monitor.ts";
import type { EventHub, HubEvent } from "./event-hub.ts";

/** The most readers at once: two pages, a monitor, and some whose end is not noticed yet. */
const READERS_MAX = 16;

export type EventStreams = ReturnType<typeof eventStreams>;

/** Returns the streams of `GET /events` (server-sent events, HTML Living Standard 9.2). */
export function eventStreams({ hub, watch }: Monitor, clock: Clock, log: Logger) {
  const readers = new Set<EventReader>();
  return {
    /** Opens a stream of the events after `lastId`; undefined: a stream of new events only. */
    open(reply: FastifyReply, lastId: number | undefined): FastifyReply {
      if (readers.size >= READERS_MAX) throw new AppError("TOO_MANY_READERS");
      const { from, gap } = startOf(lastId, hub.source);
      reply.hijack();
      const { raw } = reply;
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        "content-type": "text/event-stream; charset=utf-8",
        // The connection is closed with the stream, because nothing can follow the stream on it.
        connection: "close",
      });
      const reader = new EventReader(raw, hub, clock, from, log);
      readers.add(reader);
      raw.once("close", () => readers.delete(reader));
      reader.begin(watch.now, gap);
      return reply;
    },
    end(): void {
      for (const reader of readers) reader.end();
    },
  };
}

/** Returns the event id after which a stream begins, and a gap if events since then are missing. */
function startOf(asked: number | undefined, source: EventRows) {
  const { lastId } = source;
  if (asked === undefined) return { from: lastId, gap: undefined };
  const oldestId = source.after(0, 1)[0]?.id ?? lastId + 1;
  if (asked > lastId) return { from: lastId, gap: { afterId: asked, beforeId: lastId + 1 } };
  const missed = asked > 0 && asked < oldestId - 1;
  return { from: asked, gap: missed ? { afterId: asked, beforeId: oldestId } : undefined };
}

const HEARTBEAT_MS = 15_000;
/** After this time a reader that accepts no data is disconnected; the reader can reconnect. */
const BLOCKED_MAX_MS = 30_000;
/** The most events that are not stored, such as prompts, that wait for a slow reader. */
const WAITING_MAX = 64;
const PAGE = 50;

/**
 * One reader of `GET /events`. Stored events are read from the journal after the last one sent, so
 * a slow reader costs no memory; other events, such as prompts, wait in a short queue.
 *
 *   journal ──(page)──┐
 *                     ├── socket, until it is full; then on "drain"
 *   hub ──(queue)─────┘
 */
class EventReader {
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
    response.on("drain", () => {
      this.#blocked?.clear();
      this.#blocked = undefined;
      this.#pump();
    });
    response.on("close", () => this.#forget());
    this.#unsubscribe = hub.subscribe((event) => this.#take(event));
  }

  /** Sends the first event id, a gap if events are missing, and the terminal's state. */
  begin(terminal: EventData<"terminal">, gap: EventData<"gap"> | undefined): void {
    this.#response.flushHeaders();
    this.#write(`: events\nretry: 2000\nid: ${this.#sentId}\n\n`);
    if (gap) this.#write(textOf({ name: "gap", data: gap }, this.#clock.now()));
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

  /** Sends the waiting events; a journal that cannot be read ends this stream only. */
  #pump(): void {
    try {
      this.#send();
    } catch (error) {
      this.#log.error({ err: error }, "a client's event stream was closed because of a fault");
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

/** Returns an event's text without an id, which leaves the reader's Last-Event-ID as it is. */
function textOf({ name, data }: HubEvent, atMs: number): string {
  const body = JSON.stringify({ at: isoTime(atMs), ...data });
  return `event: ${name}\ndata: ${body}\n\n`;
}
