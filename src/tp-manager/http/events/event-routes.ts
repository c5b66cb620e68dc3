import type { FastifyInstance, FastifyRequest } from "fastify";
import { AppError } from "../../../shared/errors.ts";
import type { EventData } from "../../attempts/event-table.ts";
import type { ApiOptions } from "../app.ts";
import { fault } from "../calls/body-members.ts";
import type { EventSource } from "./event-hub.ts";
import { EventReader } from "./event-reader.ts";

/** A kiosk page, an operator page, a monitor, and some that are being cut off. */
const READERS_MAX = 16;

type Call = FastifyRequest<{ Querystring: Record<string, unknown> }>;

/** `GET /events`: server-sent events (HTML Living Standard 9.2). */
export function installEventRoutes(app: FastifyInstance, options: ApiOptions): void {
  const { monitor, clock } = options;
  const { hub, watch } = monitor;
  const readers = new Set<EventReader>();
  app.addHook("preClose", (done) => {
    for (const reader of readers) reader.end();
    done();
  });

  app.get("/events", (call: Call, reply) => {
    const asked = lastEventId(call);
    if (readers.size >= READERS_MAX) throw new AppError("TOO_MANY_READERS");
    const { from, gap } = startOf(asked, hub.source);
    reply.hijack();
    const { raw } = reply;
    raw.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      // A stream ends with its connection; nothing may be sent behind it.
      connection: "close",
    });
    const reader = new EventReader(raw, hub, clock, from, (error) =>
      options.log.error({ err: error }, "a stream of events was ended by a fault"),
    );
    readers.add(reader);
    raw.once("close", () => readers.delete(reader));
    reader.begin(watch.now, gap);
  });
}

/** The header of a browser's EventSource, or the query for programs that cannot set it. */
function lastEventId({ headers, query }: Call): number | undefined {
  const { lastEventId: asked, ...others } = query;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) throw fault(unknown, "is not known (known: lastEventId)");
  const given = headers["last-event-id"] ?? asked;
  if (given === undefined || given === "") return undefined;
  if (typeof given === "string" && /^\d{1,15}$/.test(given)) return Number(given);
  throw fault("Last-Event-ID", "must be the id of an event, or 0 for all that are kept");
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
