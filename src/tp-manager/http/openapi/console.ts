import { z } from "zod";
import { finding } from "../../../shared/catalog/findings.ts";
import { logLevels } from "../care/log-lines.ts";
import { time } from "./schemas.ts";

/** Answers of the calls that the operator's console reads. */

const act = z.object({
  id: z.int(),
  at: time,
  login: z.string().describe("Of the session."),
  name: z.string().describe("The person's own word."),
  reason: z.string(),
  call: z.string().describe("Method and path."),
  body: z.string().nullable().describe("JSON, card numbers masked."),
  http: z.int().nullable(),
  code: z.string().nullable().describe("Of the error that was answered."),
});

const setting = z.object({
  name: z.string(),
  value: z.string().nullable().describe("null: not set, or hidden."),
  state: z.enum(["set", "hidden", "default", "unknown"]),
  default: z.string().nullable(),
  help: z.string(),
});

const logLine = z.object({
  at: z.string(),
  level: z.enum(logLevels),
  area: z.string().nullable(),
  message: z.string(),
  more: z.string().describe("The other members of the line, JSON."),
});

const doctor = z.object({
  version: z.string(),
  well: z.boolean().describe("Nothing has failed."),
  findings: z.array(
    z.object({
      check: z.string(),
      code: z
        .string()
        .describe("Of the doctor's table; a trouble; or the error code that a payment would get."),
      verdict: z.enum(["ok", "warn", "fail"]),
      says: z.string(),
      todo: z.string().nullable(),
      values: z
        .record(z.string(), z.union([z.string(), z.number()]))
        .describe("What differs from one time to the next, for sentences in other languages."),
    }),
  ),
});

export const consoleSchemas = { act, setting, logLine, doctor };

export const consoleAnswers = {
  setting: {
    schema: setting,
    example: {
      name: "LOG_LEVEL",
      value: null,
      state: "default",
      default: "info",
      help: "How much is logged: debug adds every frame, card data removed.",
    },
  },
  logLine: {
    schema: logLine,
    example: {
      at: "2026-01-15T12:00:00.000Z",
      level: "info",
      area: "terminal",
      message: "the terminal is registered",
      more: "",
    },
  },
  doctor: {
    schema: doctor,
    example: {
      version: "0.1.0",
      well: true,
      findings: [finding("disk-low", { free: 480 })],
    },
  },
  act: {
    schema: act,
    example: {
      id: 7,
      at: "2026-01-15T12:00:00.000Z",
      login: "operator",
      name: "Anna",
      reason: "hangs at the card reader",
      call: "POST /reset",
      body: null,
      http: 200,
      code: null,
    },
  },
};
