import type { ListStatus } from "../payments/payment-store.ts";

const isApproved = `phase = 'sent' AND json_extract(state, '$.goods') IS NOT NULL
  AND json_extract(state, '$.goods.decision') IS NULL`;
const endedAs = (status: string): string =>
  `phase = 'not-charged' AND json_extract(state, '$.outcome.status') = '${status}'`;

const isReturned = `open_return IS NULL AND returned_minor > 0 AND returned_minor >=
  ifnull(json_extract(state, '$.report.amountMinor'), amount_minor)`;

/** The statuses of answers (payments/answer.ts) as conditions. */
export const statusSql: Readonly<Record<ListStatus, string>> = {
  Success: `phase = 'charged' AND open_return IS NULL AND NOT (${isReturned})`,
  Approved: isApproved,
  Declined: endedAs("declined"),
  Cancelled: endedAs("cancelled"),
  Failed: endedAs("failed"),
  Reversed: `(phase = 'reversed' OR (phase = 'charged' AND ${isReturned}))`,
  Unknown: `(open_return IS NOT NULL
    OR phase IN ('sent', 'in-doubt', 'reversing', 'reversal-in-doubt') AND NOT (${isApproved}))`,
};
