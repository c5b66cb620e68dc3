import { z } from "zod";
import { NAME_CHARACTERS_MAX } from "../../../shared/masking/legible.ts";
import { logLevels } from "../../../shared/process/log-file.ts";
import { judged, legible, oneOf, pageLimit } from "../body/input.ts";
import { type AnyCall, call } from "../call.ts";
import { success } from "../envelope.ts";

const LINES_MAX = 1_000;
const person = legible(NAME_CHARACTERS_MAX);
const day = judged(z.iso.date(), "must be a day like 2026-01-31");

/** The calls about setup file, logs, doctor and updates of the installation (docs/console.md 4). */
export const maintenanceCalls: readonly AnyCall[] = [
  call({
    path: "/settings",
    reads: true,
    role: "operator",
    document: ({ setting }) => ({ answer: setting, list: true, errors: [] }),
    handle: (_, { maintenance }) => maintenance.settings(),
  }),

  call({
    path: "/logs",
    reads: true,
    role: "operator",
    query: z.strictObject({
      program: oneOf(["tp-manager", "supervisor"]).default("tp-manager"),
      level: oneOf(logLevels).default("info"),
      contains: z.string().max(200, "is too long").default(""),
      limit: pageLimit(LINES_MAX),
    }),
    document: ({ logLine }) => ({ answer: logLine, list: true, errors: [] }),
    handle: ({ query }, { maintenance }) => maintenance.logs(query),
  }),

  call({
    path: "/doctor",
    reads: true,
    role: "operator",
    document: ({ doctor }) => ({ answer: doctor, errors: [] }),
    handle: (_, { maintenance }) => maintenance.doctor(),
  }),

  call({
    path: "/support-bundle",
    reads: true,
    role: "operator",
    document: () => ({
      type: "application/gzip",
      answer: z.string(),
      description: "tar.gz",
      errors: [],
    }),
    async handle({ reply }, { maintenance }) {
      const archive = await maintenance.supportBundle();
      void reply.header("content-disposition", 'attachment; filename="support.tar.gz"');
      return reply.type("application/gzip").send(archive);
    },
  }),

  call({
    path: "/update/check",
    role: "operator",
    body: z.strictObject({}).optional(),
    document: ({ done }) => ({
      answer: z.object({ ...done, done: z.boolean() }),
      example: { status: "Success", done: true, message: "version 0.2.0 is ready" },
      errors: ["NOT_SUPPORTED"],
    }),
    handle: async (_, { maintenance }) => ({
      ...success,
      ...(await maintenance.update("--check")),
    }),
  }),

  call({
    path: "/update/hold",
    role: "operator",
    body: z.strictObject({ until: day.optional(), by: person.optional() }).optional(),
    document: ({ done }) => ({
      bodyExample: { until: "2026-01-31", by: "Anna" },
      answer: z.object({ ...done, done: z.boolean() }),
      example: { status: "Success", done: true, message: "updates: held by kiosk" },
      errors: ["CARD_DATA_REFUSED", "NOT_SUPPORTED"],
    }),
    async handle({ body: { until, by } = {} }, { maintenance }) {
      // A name and its value are one argument, because a person's name may begin with a dash.
      const named = [...(until ? [`--until=${until}`] : []), ...(by ? [`--by=${by}`] : [])];
      return { ...success, ...(await maintenance.update("--hold", ...named)) };
    },
  }),

  call({
    path: "/update/unhold",
    role: "operator",
    body: z.strictObject({}).optional(),
    document: ({ done }) => ({
      answer: z.object({ ...done, done: z.boolean() }),
      example: { status: "Success", done: true, message: "updates: the hold of Anna is over" },
      errors: ["NOT_SUPPORTED"],
    }),
    handle: async (_, { maintenance }) => ({
      ...success,
      ...(await maintenance.update("--unhold")),
    }),
  }),
];
