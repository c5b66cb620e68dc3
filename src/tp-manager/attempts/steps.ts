import type { AttemptStep } from "./payment.ts";

/** The step that is the write-ahead record of a reversal. */
export const REVERSAL_BEGINS = "reversal-begins";

/** When the newest reversal of an attempt began; undefined: none did. */
export const reversalBeganAtMs = (events: readonly AttemptStep[]): number | undefined =>
  events.findLast(({ kind }) => kind === REVERSAL_BEGINS)?.atMs;

/** Ends of commands of which nothing has left the connector. */
const neverSent = ["end-not-sent", "end-withdrawn"];

export const isNeverSent = (events: ReadonlyArray<Pick<AttemptStep, "kind">>): boolean =>
  events.some(({ kind }) => neverSent.includes(kind));

/** Steps of an attempt whose detail holds a report of the terminal. */
export const reportSteps = ["report", "approved", "reversal-report"] as const;
