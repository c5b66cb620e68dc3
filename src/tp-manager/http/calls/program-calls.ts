import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { projectRoot } from "../../../shared/version-files.ts";
import { type AnyCall, call } from "../call.ts";
import { success } from "../envelope.ts";

/** Made by `npm run readme`. */
export const openApiFile = join(projectRoot, "docs", "openapi.json");

const eventIdForm = /^\d{0,15}$/;
const eventId = z
  .custom<string>((value) => typeof value === "string" && eventIdForm.test(value), {
    error: "must be the id of an event, or 0 for all that are kept",
    params: { field: "Last-Event-ID" },
  })
  .meta({ documented: z.string().regex(eventIdForm) });

/** The connector's own affairs: whether it is ready, its figures and events, its end. */
export const programCalls: readonly AnyCall[] = [
  call({
    path: "/stop",
    methods: ["GET", "POST"],
    whileUpdating: true,
    role: "operator",
    summary: "Stop tp-manager",
    description:
      "Answers at once and refuses new payments; a running one may end, and is cancelled after " +
      "10 s.",
    document: ({ done }) => ({
      answer: z.object({ ...done, stopped: z.boolean().describe("No payment was running.") }),
      example: { status: "Success", stopped: true, message: "The terminal manager stops." },
      errors: [],
    }),
    handle({ reply }, { arbiter, requestStop }) {
      const running = arbiter.lease.current !== undefined;
      arbiter.lease.close();
      reply.raw.once("close", () => requestStop("/stop"));
      const message = running
        ? "Stops when the running payment has ended."
        : "The terminal manager stops.";
      return { ...success, stopped: !running, message };
    },
  }),

  call({
    path: "/health",
    reads: true,
    summary: "Whether a payment can be taken now, or why not",
    description:
      "200 Ready or 503 NotReady with reasons, and the same body: link, terminal, outbox, " +
      "counts, conditions with what to do, alarms, disk, clock, versions, time of the daily " +
      "chores.",
    document: ({ health }) => ({ answer: health, also: [503], errors: [] }),
    async handle({ reply }, { monitor }) {
      const health = await monitor.health();
      if (health.status !== "Ready") void reply.code(503);
      return health;
    },
  }),

  call({
    path: "/metrics",
    reads: true,
    summary: "Figures for Prometheus",
    document: () => ({
      type: "text/plain",
      answer: z.string(),
      description: "Prometheus text format 0.0.4.",
      errors: [],
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
    summary: "Server-sent events",
    description: "The header Last-Event-ID repeats the kept events after that id.",
    query: z.strictObject({
      lastEventId: eventId
        .optional()
        .describe("As the header Last-Event-ID, for programs that cannot set it."),
    }),
    headers: z.object({
      "last-event-id": eventId.optional().describe("The last one seen; 0: all that are kept."),
    }),
    document: () => ({
      type: "text/event-stream",
      answer: z.string(),
      description: "See x-events for the vocabulary.",
      errors: ["TOO_MANY_READERS"],
    }),
    /** A browser's EventSource sends the header, and again the query it began with. */
    handle({ query, headers, reply }, { events }) {
      const given = headers["last-event-id"] ?? query.lastEventId;
      return events.open(reply, given ? Number(given) : undefined);
    },
  }),

  call({
    path: "/openapi.json",
    reads: true,
    summary: "This API as OpenAPI 3.1, with every answer and error",
    document: ({ openApi }) => ({
      type: "application/json",
      answer: openApi,
      description: "OpenAPI 3.1.",
      errors: [],
    }),
    handle: async ({ reply }) =>
      reply.type("application/json; charset=utf-8").send(await readFile(openApiFile, "utf8")),
  }),
];
