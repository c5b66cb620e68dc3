import type { AttemptStep } from "./payment.ts";

/** The step that is the write-ahead record of a reversal. */
export const REVERSAL_BEGINS = "reversal-begins";

/** When the newest reversal of an attempt began; undefined: none did. */
export const reversalBeganAtMs = (events: readonly AttemptStep[]): number | undefined =>
  events.findLast(({ kind }) => kind === REVERSAL_BEGINS)?.atMs;

/** Steps of an attempt whose detail holds a report of the terminal. */
export const reportSteps = ["report", "approved", "reversal-report"] as const;
