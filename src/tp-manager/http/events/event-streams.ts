import type { FastifyReply } from "fastify";
import { AppError } from "../../../shared/catalog/errors.ts";
import type { Logger } from "../../../shared/process/logger.ts";
import type { Clock } from "../../../shared/time.ts";
import type { EventData } from "../../attempts/event-table.ts";
import type { EventRows } from "../../journal/event-rows.ts";
import type { Monitor } from "../status/monitor.ts";
import { EventReader } from "./event-reader.ts";

/** The most readers at once: two pages, a monitor, and some that are about to be cut off. */
const READERS_MAX = 16;

export type EventStreams = ReturnType<typeof eventStreams>;

/** Returns the streams of `GET /events` (server-sent events, HTML Living Standard 9.2). */
export function eventStreams({ hub, watch }: Monitor, clock: Clock, log: Logger) {
  const readers = new Set<EventReader>();
  return {
    /** Opens a stream. `lastId`: kept events after this id come first; undefined: only new ones. */
    open(reply: FastifyReply, lastId: number | undefined): FastifyReply {
      if (readers.size >= READERS_MAX) throw new AppError("TOO_MANY_READERS");
      const { from, gap } = startOf(lastId, hub.source);
      reply.hijack();
      const { raw } = reply;
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        "content-type": "text/event-stream; charset=utf-8",
        // The connection ends with the stream, because nothing may follow it.
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

/** Returns the id after which a stream begins, and the gap if events are no longer kept. */
function startOf(
  asked: number | undefined,
  source: EventRows,
): { from: number; gap: EventData<"gap"> | undefined } {
  const { lastId } = source;
  if (asked === undefined) return { from: lastId, gap: undefined };
  const oldestId = source.after(0, 1)[0]?.id ?? lastId + 1;
  if (asked > lastId) return { from: lastId, gap: { afterId: asked, beforeId: lastId + 1 } };
  const missed = asked > 0 && asked < oldestId - 1;
  return { from: asked, gap: missed ? { afterId: asked, beforeId: oldestId } : undefined };
}
