import type { DatabaseSync } from "node:sqlite";
import type { SendingStep } from "../../shared/ipc/contract.ts";
import { faultTable, type TryClass } from "../gateway/fault-table.ts";

/** How many operator actions an order's steps list at most, and how many ends without an answer. */
const LISTED_MAX = 100;

/**
 * The query for the steps of an order, sorted by when each step began. Within one millisecond, an
 * operator's action comes before a try, and a try comes before an end.
 */
const stepsOfOrder = `
  WITH own AS (SELECT transaction_id FROM transactions WHERE order_id = ?)
  SELECT NULL AS number, NULL AS class, '' AS description, NULL AS by, queued_at_ms AS atMs,
    'queued' AS step, queued_at_ms AS beganAtMs, 0 AS rank, 0 AS nth
  FROM outbox JOIN own USING (transaction_id)
  UNION ALL
  SELECT number, class, description, NULL, ended_at_ms, 'try', started_at_ms, 2, number
  FROM attempts JOIN own USING (transaction_id)
  UNION ALL
  SELECT * FROM (SELECT NULL, NULL, note, by_whom, at_ms, action, at_ms, 1, id
    FROM operator_actions JOIN own USING (transaction_id) ORDER BY id DESC LIMIT ${LISTED_MAX})
  UNION ALL
  SELECT * FROM (SELECT NULL, NULL, reason, NULL, at_ms, state, at_ms, 3, id
    FROM outbox_ends JOIN own USING (transaction_id) ORDER BY id DESC LIMIT ${LISTED_MAX})
  ORDER BY beganAtMs, rank, atMs, nth`;

/**
 * Returns the steps of an order on its way to the gateway, oldest first: the stored tries, the ends
 * of its items with their reason and the operators' actions. Empty: nothing was handed off.
 */
export function sendingSteps(database: DatabaseSync, orderId: string): SendingStep[] {
  const rows = database.prepare(stepsOfOrder).all(orderId) as unknown as SendingStep[];
  return rows.map(({ number, class: tryClass, description, by, atMs, step }) => {
    const outcome = tryClass === null ? null : outcomeOf(tryClass as TryClass);
    return { number, outcome, class: tryClass, description, by, atMs, step };
  });
}

function outcomeOf(tryClass: TryClass): SendingStep["outcome"] {
  if (tryClass === "sent") return "taken";
  const { unsent, ambiguous } = faultTable[tryClass];
  if (unsent) return "not-sent";
  return ambiguous ? "not-known" : "not-taken";
}
