import type { DatabaseSync } from "node:sqlite";
import type { SendingStep } from "../../shared/ipc/contract.ts";
import { faultTable, type TryClass } from "../gateway/fault-table.ts";

/** How many operators' actions and ends of tries are listed of one order: the newest of each. */
const LISTED_MAX = 100;

const ofOrder = `JOIN transactions USING (transaction_id) WHERE order_id = :order`;
const queued = `SELECT queued_at_ms AS atMs, 'queued' AS step FROM outbox ${ofOrder}`;
const tries = `SELECT ended_at_ms AS atMs, 'try' AS step, number, class, description,
    started_at_ms AS beganAtMs
  FROM attempts ${ofOrder} ORDER BY ended_at_ms, number`;
const newest = `${ofOrder} ORDER BY id DESC LIMIT ${LISTED_MAX}`;
const ends = `SELECT at_ms AS atMs, state AS step, reason AS description
  FROM outbox_ends ${newest}`;
const actions = `SELECT at_ms AS atMs, action AS step, note AS description, by_whom AS by
  FROM operator_actions ${newest}`;

/** The order of steps that have the same millisecond. */
const ranks: Readonly<Record<SendingStep["step"], number>> = {
  queued: 0,
  requeue: 1,
  drop: 1,
  try: 2,
  parked: 3,
  closed: 3,
  sent: 3,
};

/**
 * Returns an order's way to the gateway, oldest first: the tries that are kept, the ends of tries
 * with their reason and the actions of operators. Empty: nothing was handed off. Nothing else
 * happens while a try runs, so a try is sorted by its beginning.
 */
export function sendingSteps(database: DatabaseSync, orderId: string): SendingStep[] {
  const steps = (sql: string) =>
    database
      .prepare(sql)
      .all({ order: orderId })
      .map((row) => {
        const step = { ...noStep, ...row } as unknown as SendingStep & { beganAtMs?: number };
        const { beganAtMs = step.atMs, ...others } = step;
        return { step: others, beganAtMs };
      });
  return [
    ...steps(queued),
    ...steps(tries).map(({ step, beganAtMs }) => {
      const outcome = outcomeOf(step.class as TryClass);
      return { step: { ...step, outcome }, beganAtMs };
    }),
    ...steps(ends).reverse(),
    ...steps(actions).reverse(),
  ]
    .sort((a, b) => a.beganAtMs - b.beganAtMs || ranks[a.step.step] - ranks[b.step.step])
    .map(({ step }) => step);
}

const noStep = { number: null, outcome: null, class: null, description: "", by: null };

function outcomeOf(tryClass: TryClass): SendingStep["outcome"] {
  if (tryClass === "sent") return "taken";
  const { unsent, ambiguous } = faultTable[tryClass];
  if (unsent) return "not-sent";
  return ambiguous ? "not-known" : "not-taken";
}
