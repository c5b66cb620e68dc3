import { z } from "zod";
import { logLevels } from "../../../shared/process/log-file.ts";
import { time } from "./schemas.ts";

/** Answers of the calls that the operator's console reads. */

export const act = z.object({
  id: z.int(),
  at: time,
  login: z.string(),
  name: z.string(),
  reason: z.string(),
  call: z.string(),
  body: z.string().nullable(),
  http: z.int().nullable(),
  code: z.string().nullable(),
});

export const setting = z.object({
  name: z.string(),
  value: z.string().nullable(),
  state: z.enum(["set", "hidden", "default", "unknown"]),
  default: z.string().nullable(),
  help: z.string(),
});

export const logLine = z.object({
  at: z.string(),
  level: z.enum(logLevels),
  area: z.string().nullable(),
  message: z.string(),
  more: z.string(),
});

const findings = z.array(
  z.object({
    check: z.string(),
    code: z.string(),
    verdict: z.enum(["ok", "warn", "fail"]),
    says: z.string(),
    todo: z.string().nullable(),
    values: z.record(z.string(), z.union([z.string(), z.number()])),
  }),
);

export const doctor = z.object({
  version: z.string(),
  well: z.boolean(),
  findings,
});
