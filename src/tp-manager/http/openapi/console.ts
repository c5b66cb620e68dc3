import { z } from "zod";
import { finding } from "../../../shared/catalog/findings.ts";
import { logLevels } from "../../../shared/process/log-file.ts";
import { like } from "./examples.ts";
import { time } from "./schemas.ts";

/** Answers of the calls that the operator's console reads. */

export const act = z.object({
  id: like(z.int(), 7),
  at: time,
  login: like(z.string(), "operator"),
  name: like(z.string(), "Anna"),
  reason: like(z.string(), "hangs at the card reader"),
  call: like(z.string(), "POST /reset"),
  body: z.string().nullable(),
  http: like(z.int().nullable(), 200),
  code: z.string().nullable(),
});

export const setting = z.object({
  name: like(z.string(), "LOG_LEVEL"),
  value: z.string().nullable(),
  state: like(z.enum(["set", "hidden", "default", "unknown"]), "default"),
  default: like(z.string().nullable(), "info"),
  help: like(z.string(), "How much is logged: debug adds every frame, card data removed."),
});

export const logLine = z.object({
  at: like(z.string(), "2026-01-15T12:00:00.000Z"),
  level: like(z.enum(logLevels), "info"),
  area: like(z.string().nullable(), "terminal"),
  message: like(z.string(), "the terminal is registered"),
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
  version: like(z.string(), "0.1.0"),
  well: like(z.boolean(), true),
  findings: like(findings, [finding("disk-low", { free: 480 })]),
});
