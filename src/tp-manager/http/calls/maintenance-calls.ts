import { z } from "zod";
import { NAME_CHARACTERS_MAX } from "../../../shared/masking/legible.ts";
import { judged, legible } from "../body/input.ts";
import { type AnyCall, call } from "../call.ts";
import { success } from "../envelope.ts";
import { logQuery } from "../maintenance/maintenance.ts";

const person = legible(NAME_CHARACTERS_MAX);
const day = judged(z.iso.date(), "must be a day like 2026-01-31");

/** The calls about setup file, logs, doctor and updates of the installation (docs/console.md 4). */
export const maintenanceCalls: readonly AnyCall[] = [
  call({
    path: "/settings",
    reads: true,
    role: "operator",
    document: ({ setting }) => ({ answer: setting, list: true }),
    handle: (_, { maintenance }) => maintenance.settings(),
  }),

  call({
    path: "/logs",
    reads: true,
    role: "operator",
    query: logQuery,
    document: ({ logLine }) => ({ answer: logLine, list: true }),
    handle: ({ query }, { maintenance }) => maintenance.logs(query),
  }),

  call({
    path: "/doctor",
    reads: true,
    role: "operator",
    document: ({ doctor }) => ({ answer: doctor }),
    handle: (_, { maintenance }) => maintenance.doctor(),
  }),

  call({
    path: "/support-bundle",
    reads: true,
    role: "operator",
    document: () => ({ type: "application/gzip", answer: z.string(), description: "tar.gz" }),
    async handle({ reply }, { maintenance }) {
      const archive = await maintenance.supportBundle();
      void reply.header("content-disposition", 'attachment; filename="support.tar.gz"');
      return reply.type("application/gzip").send(archive);
    },
  }),

  call({
    path: "/backup",
    role: "operator",
    document: ({ done, copy }) => ({ answer: z.object({ ...done, copy: copy.nullable() }) }),
    handle: async (_, { maintenance }) => ({ ...success, ...(await maintenance.backup()) }),
  }),

  update("check", z.strictObject({}).optional()),
  update("hold", z.strictObject({ until: day.optional(), by: person.optional() }).optional()),
  update("unhold", z.strictObject({}).optional()),
];

function update(
  option: "check" | "hold" | "unhold",
  body: z.ZodType<{ until?: string | undefined; by?: string | undefined } | undefined>,
): AnyCall {
  return call({
    path: `/update/${option}`,
    role: "operator",
    body,
    document: ({ done }) => ({
      answer: z.object({ ...done, done: z.boolean() }),
      errors: option === "hold" ? ["CARD_DATA_REFUSED", "NOT_SUPPORTED"] : ["NOT_SUPPORTED"],
    }),
    async handle({ body: { until, by } = {} }, { maintenance }) {
      // An option and its value are one argument, because a person's name may begin with a dash.
      const named = [...(until ? [`--until=${until}`] : []), ...(by ? [`--by=${by}`] : [])];
      return { ...success, ...(await maintenance.update(`--${option}`, ...named)) };
    },
  });
}
