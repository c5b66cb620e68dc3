import type { ListStatus } from "../attempts/payment-store.ts";

const isApproved = `phase = 'sent' AND json_extract(state, '$.goods') IS NOT NULL
  AND json_extract(state, '$.goods.decision') IS NULL`;
const endedAs = (status: string): string =>
  `(phase = 'not-charged' AND json_extract(state, '$.outcome.status') = '${status}')`;

/** As returnedOf() of attempt-row.ts. */
export const returnedSql = "max(returned_minor, notified_return_minor)";

const isReturned = `open_return IS NULL AND ${returnedSql} > 0 AND ${returnedSql} >=
  ifnull(json_extract(state, '$.report.amountMinor'), amount_minor)`;

/** The statuses of answers (orders/answer.ts) as conditions, each in brackets. */
export const statusSql: Readonly<Record<ListStatus, string>> = {
  Success: `(phase = 'charged' AND open_return IS NULL AND NOT (${isReturned}))`,
  Approved: `(${isApproved})`,
  Declined: endedAs("declined"),
  Cancelled: endedAs("cancelled"),
  Failed: endedAs("failed"),
  Reversed: `(phase = 'reversed' OR (phase = 'charged' AND (${isReturned})))`,
  Unknown: `(open_return IS NOT NULL
    OR phase IN ('sent', 'in-doubt', 'reversing', 'reversal-in-doubt') AND NOT (${isApproved}))`,
};
