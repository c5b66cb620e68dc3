import { readFileSync } from "node:fs";
import { z } from "zod";
import { ValueError } from "../switch-table.ts";
import { cardNames } from "./bank/cards.ts";
import { type OutcomeRule, parseOutcomeRule } from "./bank/outcome.ts";
import { FaultError, type FaultRequest, faultRequest, parseFault } from "./faults/fault-request.ts";
import type { FaultTable } from "./faults/fault-table.ts";

/** The course of one payment; a member that is missing stays as always. */
export interface PaymentScript {
  readonly outcome?: OutcomeRule;
  readonly card?: (typeof cardNames)[number];
  readonly customerMs?: number;
  readonly hostMs?: number;
  readonly faults?: readonly FaultRequest[];
}

interface Scenario {
  readonly faults: readonly FaultRequest[];
  readonly payments: readonly PaymentScript[];
}

/** `"mute:at=report"`, or `{"name": "mute", "at": "report"}`. */
const faultOf = (table: FaultTable) =>
  z.union([z.string(), z.looseObject({ name: z.string() })]).transform((given, context) => {
    try {
      if (typeof given === "string") return parseFault(table, given);
      const { name, ...rest } = given;
      return faultRequest(table, name, rest);
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      context.addIssue({ code: "custom", message: error.message });
      return z.NEVER;
    }
  });

const outcome = z.string().transform((text, context) => {
  const rule = parseOutcomeRule(text);
  if (rule) return rule;
  context.addIssue({
    code: "custom",
    message: "not by-amount, approve, decline:CODE or customer-timeout",
  });
  return z.NEVER;
});

const scenarioOf = (fault: ReturnType<typeof faultOf>) =>
  z.strictObject({
    faults: z.array(fault).default([]),
    payments: z
      .array(
        z.strictObject({
          outcome: outcome.optional(),
          card: z.enum(cardNames).optional(),
          customerMs: z.number().int().min(0).optional(),
          hostMs: z.number().int().min(0).optional(),
          faults: z.array(fault).optional(),
        }),
      )
      .default([]),
  });

/** Reads the JSON file of `--scenario`. Throws {@link ValueError}. */
export function readScenario(table: FaultTable, path: string): Scenario {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new ValueError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
  const parsed = scenarioOf(faultOf(table)).safeParse(json);
  if (!parsed.success) throw new ValueError(`${path}: ${z.prettifyError(parsed.error)}`);
  return parsed.data as Scenario;
}
