import type { FastifyReply } from "fastify";
import { AppError } from "../../../shared/catalog/errors.ts";
import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { EventData } from "../../attempts/event-table.ts";
import type { EventHub, EventSource } from "./event-hub.ts";
import { EventReader } from "./event-reader.ts";
import type { TerminalWatch } from "./terminal-watch.ts";

/** A kiosk page, an operator page, a monitor, and some that are being cut off. */
const READERS_MAX = 16;

interface EventStreamsParts {
  readonly hub: EventHub;
  readonly watch: Pick<TerminalWatch, "now">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The open streams of `GET /events` (server-sent events, HTML Living Standard 9.2). */
export class EventStreams {
  readonly #parts: EventStreamsParts;
  readonly #readers = new Set<EventReader>();

  constructor(parts: EventStreamsParts) {
    this.#parts = parts;
  }

  /** `lastId`: what came behind it is repeated; undefined: only what comes from now on. */
  open(reply: FastifyReply, lastId: number | undefined): FastifyReply {
    const { hub, watch, clock, log } = this.#parts;
    if (this.#readers.size >= READERS_MAX) throw new AppError("TOO_MANY_READERS");
    const { from, gap } = startOf(lastId, hub.source);
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      // A stream ends with its connection; nothing may be sent behind it.
      connection: "close",
    });
    const reader = new EventReader(raw, hub, clock, from, (error) =>
      log.error({ err: error }, "a stream of events was ended by a fault"),
    );
    this.#readers.add(reader);
    raw.once("close", () => this.#readers.delete(reader));
    reader.begin(watch.now, gap);
    return reply;
  }

  end(): void {
    for (const reader of this.#readers) reader.end();
  }
}

/** Where the stream begins, and what can no longer be told. */
function startOf(
  asked: number | undefined,
  source: EventSource,
): { from: number; gap: EventData<"gap"> | undefined } {
  const { lastId } = source;
  if (asked === undefined) return { from: lastId, gap: undefined };
  const oldestId = source.after(0, 1)[0]?.id ?? lastId + 1;
  if (asked > lastId) return { from: lastId, gap: { afterId: asked, beforeId: lastId + 1 } };
  const missed = asked > 0 && asked < oldestId - 1;
  return { from: asked, gap: missed ? { afterId: asked, beforeId: oldestId } : undefined };
}
