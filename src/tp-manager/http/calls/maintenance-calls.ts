import { z } from "zod";
import { NAME_CHARACTERS_MAX } from "../../../shared/masking/legible.ts";
import { logLevels } from "../../../shared/process/log-file.ts";
import { judged, legible, oneOf, pageLimit } from "../body/input.ts";
import { type AnyCall, call } from "../call.ts";
import { success } from "../envelope.ts";

const LINES_MAX = 1_000;
const person = legible(NAME_CHARACTERS_MAX);
const day = judged(z.iso.date(), "must be a day like 2026-01-31");

/** The installation's own maintenance: setup file, logs, doctor, updates (docs/console.md 4). */
export const maintenanceCalls: readonly AnyCall[] = [
  call({
    path: "/settings",
    reads: true,
    role: "operator",
    summary: "The setup file, name by name, with its help",
    description:
      "Secrets, logins and addresses with either are hidden. `value` is as the file has it now.",
    document: ({ setting }) => ({ answer: setting, list: true, errors: [] }),
    handle: (_, { maintenance }) => maintenance.settings(),
  }),

  call({
    path: "/logs",
    reads: true,
    role: "operator",
    summary: "The newest lines of a program's log, newest first",
    query: z.strictObject({
      program: oneOf(["tp-manager", "supervisor"]).default("tp-manager"),
      level: oneOf(logLevels).default("info").describe("This level and those above it."),
      contains: z.string().max(200, "is too long").default("").describe("Only lines with it."),
      limit: pageLimit(LINES_MAX),
    }),
    document: ({ logLine }) => ({ answer: logLine, list: true, errors: [] }),
    handle: ({ query }, { maintenance }) => maintenance.logs(query),
  }),

  call({
    path: "/doctor",
    reads: true,
    role: "operator",
    summary: "What is right, what is wrong, and what to do about it",
    description: "As `./launch.sh doctor --json`. It may take a minute.",
    document: ({ doctor }) => ({ answer: doctor, errors: [] }),
    handle: (_, { maintenance }) => maintenance.doctor(),
  }),

  call({
    path: "/support-bundle",
    reads: true,
    role: "operator",
    summary: "An archive for support, without passwords and card numbers",
    description: "As `./launch.sh doctor --bundle FILE`. It may take a minute.",
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
    summary: "Ask UPDATE_URL for a version now",
    description:
      "As `./launch.sh update --check`. One that is found is taken by itself when the kiosk is " +
      "idle.",
    body: z.strictObject({}).optional(),
    document: ({ done }) => ({
      answer: z.object({ ...done, done: z.boolean().describe("The question was answered.") }),
      example: { status: "Success", done: true, message: "version 0.2.0 is ready" },
      errors: ["NOT_SUPPORTED"],
    }),
    handle: async (_, { maintenance }) => ({ ...success, ...(await maintenance.checkForUpdate()) }),
  }),

  call({
    path: "/update/hold",
    role: "operator",
    summary: "Let no version be taken by itself",
    description:
      "As `./launch.sh update --hold`: until the day `until` begins, or until a person ends it. " +
      "Checks go on. `by` is who decided it; without it the user of the programs.",
    body: z.strictObject({ until: day.optional(), by: person.optional() }).optional(),
    document: ({ done }) => ({
      bodyExample: { until: "2026-01-31", by: "Anna" },
      answer: z.object({ ...done, done: z.boolean().describe("Updates are held.") }),
      example: { status: "Success", done: true, message: "updates: held by kiosk" },
      errors: ["CARD_DATA_REFUSED", "NOT_SUPPORTED"],
    }),
    handle: async ({ body = {} }, { maintenance }) => ({
      ...success,
      ...(await maintenance.holdUpdates(body)),
    }),
  }),

  call({
    path: "/update/unhold",
    role: "operator",
    summary: "Let versions be taken by themselves again",
    description: "As `./launch.sh update --unhold`: of any person's hold. Nothing is taken now.",
    body: z.strictObject({}).optional(),
    document: ({ done }) => ({
      answer: z.object({ ...done, done: z.boolean().describe("No hold is there now.") }),
      example: { status: "Success", done: true, message: "updates: the hold of Anna is over" },
      errors: ["NOT_SUPPORTED"],
    }),
    handle: async (_, { maintenance }) => ({ ...success, ...(await maintenance.endHold()) }),
  }),
];
