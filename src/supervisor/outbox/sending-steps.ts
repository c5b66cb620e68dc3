import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { SendingStep } from "../../shared/ipc/contract.ts";
import { faultTable, type TryClass } from "../gateway/fault-table.ts";

/** People's words about one order that are told, and ends of its tries; the newest of each. */
const TOLD_MAX = 100;

const ofOrder = `JOIN transactions USING (transaction_id) WHERE order_id = :order`;
const queued = `SELECT queued_at_ms AS at_ms FROM outbox ${ofOrder}`;
const tries = `SELECT attempts.* FROM attempts ${ofOrder} ORDER BY ended_at_ms, number`;
const newest = `${ofOrder} ORDER BY id DESC LIMIT ${TOLD_MAX}`;
const ends = `SELECT at_ms, state, reason FROM outbox_ends ${newest}`;
const actions = `SELECT at_ms, action, note, by_whom FROM operator_actions ${newest}`;

/** Of steps of one millisecond: a person's word begins a try, and a try ends the tries. */
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
 * An order's way to the gateway, oldest first: each try that is kept (outbox-store.ts), each end of
 * the tries with its reason, and each word of a person; of many the newest. Nothing else happens
 * while a try runs, so a try has its place by its beginning. Empty: nothing was handed over.
 */
export function sendingSteps(database: DatabaseSync, orderId: string): SendingStep[] {
  const steps = (sql: string, stepOf: (row: Row) => SendingStep) =>
    database
      .prepare(sql)
      .all({ order: orderId })
      .map((row) => {
        const step = stepOf(row);
        return { step, beganAtMs: Number(row["started_at_ms"] ?? step.atMs) };
      });
  return [
    ...steps(queued, ({ at_ms }) => ({ ...noStep, atMs: Number(at_ms), step: "queued" })),
    ...steps(tries, tryOf),
    ...steps(ends, ({ at_ms, state, reason }) => ({
      ...noStep,
      atMs: Number(at_ms),
      step: state as SendingStep["step"],
      description: String(reason),
    })).reverse(),
    ...steps(actions, ({ at_ms, action, note, by_whom }) => ({
      ...noStep,
      atMs: Number(at_ms),
      step: action as SendingStep["step"],
      description: String(note),
      by: by_whom as string | null,
    })).reverse(),
  ]
    .sort((a, b) => a.beganAtMs - b.beganAtMs || ranks[a.step.step] - ranks[b.step.step])
    .map(({ step }) => step);
}

type Row = Record<string, SQLOutputValue>;
const noStep = { number: null, outcome: null, class: null, description: "", by: null } as const;

function tryOf(row: Row): SendingStep {
  const tryClass = row["class"] as TryClass;
  return {
    ...noStep,
    atMs: Number(row["ended_at_ms"]),
    step: "try",
    number: Number(row["number"]),
    outcome: outcomeOf(tryClass),
    class: tryClass,
    description: String(row["description"]),
  };
}

function outcomeOf(tryClass: TryClass): SendingStep["outcome"] {
  if (tryClass === "sent") return "taken";
  const { unsent, ambiguous } = faultTable[tryClass];
  if (unsent) return "not-sent";
  return ambiguous ? "not-known" : "not-taken";
}
