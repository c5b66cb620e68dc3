import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { projectRoot } from "../../../shared/version-files.ts";
import { type AnyCall, call } from "../call.ts";
import { success } from "../envelope.ts";

/** The file of the OpenAPI document, made by `npm run readme`. */
export const openApiFile = join(projectRoot, "docs", "openapi.json");

const eventIdForm = /^\d{0,15}$/;
const eventId = z
  .custom<string>((value) => typeof value === "string" && eventIdForm.test(value), {
    error: "must be the id of an event, or 0 for all that are kept",
    params: { field: "Last-Event-ID" },
  })
  .meta({ documented: z.string().regex(eventIdForm) });

export const programCalls: readonly AnyCall[] = [
  call({
    path: "/stop",
    methods: ["GET", "POST"],
    whileUpdating: true,
    role: "operator",
    document: ({ done }) => ({ answer: z.object({ ...done, stopped: z.boolean() }) }),
    handle({ reply }, { arbiter, requestStop }) {
      const running = arbiter.lease.current !== undefined;
      arbiter.lease.close();
      reply.raw.once("close", () => requestStop("/stop"));
      const message = running
        ? "The program stops when the running payment has ended."
        : "The terminal manager stops.";
      return { ...success, stopped: !running, message };
    },
  }),

  call({
    path: "/health",
    reads: true,
    figures: true,
    query: z.object({ http: z.literal("200", "must be 200").optional() }),
    document: ({ health }) => ({ answer: health, also: [503] }),
    async handle({ query: { http }, reply }, { monitor }) {
      const health = await monitor.health();
      if (health.status !== "Ready" && http === undefined) void reply.code(503);
      return health;
    },
  }),

  call({
    path: "/metrics",
    reads: true,
    figures: true,
    document: () => ({
      type: "text/plain",
      answer: z.string(),
      description: "Prometheus text format 0.0.4.",
    }),
    async handle({ reply }, { monitor: { metrics } }) {
      const text = await metrics.text();
      return reply.type(metrics.registry.contentType).send(text);
    },
  }),

  call({
    path: "/events",
    reads: true,
    streams: true,
    query: z.strictObject({ lastEventId: eventId.optional() }),
    headers: z.object({ "last-event-id": eventId.optional() }),
    document: () => ({
      type: "text/event-stream",
      answer: z.string(),
      description: "A stream of the events that x-events describes.",
      errors: ["TOO_MANY_READERS"],
    }),
    /** Prefers the header to `lastEventId`: a reconnecting EventSource updates only the header. */
    handle({ query, headers, reply }, { events }) {
      const given = headers["last-event-id"] ?? query.lastEventId;
      return events.open(reply, given ? Number(given) : undefined);
    },
  }),

  call({
    path: "/openapi.json",
    reads: true,
    document: ({ openApi }) => ({
      type: "application/json",
      answer: openApi,
      description: "OpenAPI 3.1.",
    }),
    handle: async ({ reply }) =>
      reply.type("application/json; charset=utf-8").send(await readFile(openApiFile, "utf8")),
  }),
];
