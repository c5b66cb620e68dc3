/** The step that is the write-ahead record of a reversal. */
export const REVERSAL_BEGINS = "reversal-begins";

/** Steps of an attempt whose detail holds a report of the terminal. */
export const reportSteps = ["report", "approved", "reversal-report"] as const;
