import type { ListStatus } from "../payments/payment-store.ts";

const isApproved = `phase = 'sent' AND json_extract(state, '$.goods') IS NOT NULL
  AND json_extract(state, '$.goods.decision') IS NULL`;
const endedAs = (status: string): string =>
  `phase = 'not-charged' AND json_extract(state, '$.outcome.status') = '${status}'`;

/** The statuses of answers (payments/answer.ts) as conditions. */
export const statusSql: Readonly<Record<ListStatus, string>> = {
  Success: "phase = 'charged'",
  Approved: isApproved,
  Declined: endedAs("declined"),
  Cancelled: endedAs("cancelled"),
  Failed: endedAs("failed"),
  Reversed: "phase = 'reversed'",
  Unknown: `phase IN ('sent', 'in-doubt', 'reversing', 'reversal-in-doubt')
    AND NOT (${isApproved})`,
};
