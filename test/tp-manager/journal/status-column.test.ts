import { expect, test } from "vitest";
import type { AttemptState } from "../../../src/tp-manager/attempts/payment.ts";
import {
  paymentStatuses,
  phasesWith,
  phaseTable,
  variantTable,
} from "../../../src/tp-manager/attempts/phase-table.ts";
import { fullJournal, idOf } from "./full-journal.ts";

const goods = (decision: object | null) => ({ approvedAtMs: 1, decision });
const outcomes = { declined: "Declined", cancelled: "Cancelled", failed: "Failed" } as const;

test("each phase is listed under the status that the table of phases gives it", () => {
  const { database } = fullJournal(10);
  const id = idOf(2);
  const statusOf = (phase: string, state: object, columns = ""): unknown => {
    const reset = "returned_minor = 0, notified_return_minor = 0, open_return = NULL";
    database.exec(`UPDATE attempt SET ${reset} WHERE transaction_id = '${id}'`);
    database
      .prepare(`UPDATE attempt SET phase = ?, state = ? ${columns} WHERE transaction_id = ?`)
      .run(phase, JSON.stringify({ phase, ...state }), id);
    const sql = "SELECT status FROM attempt WHERE transaction_id = ?";
    return database.prepare(sql).get(id)?.["status"];
  };
  for (const phase of Object.keys(phaseTable) as AttemptState["phase"][]) {
    const { status } = phaseTable[phase];
    if (status !== "as ended") expect(statusOf(phase, {}), phase).toBe(status);
  }
  for (const [status, answered] of Object.entries(outcomes)) {
    for (const phase of phasesWith((row) => row.status === "as ended")) {
      expect(statusOf(phase, { outcome: { status } })).toBe(answered);
    }
  }
  const { approved, returned } = variantTable;
  expect(statusOf(approved.of, { goods: goods(null) })).toBe(approved.status);
  expect(statusOf(approved.of, { goods: goods({ atMs: 1 }) })).toBe(phaseTable.sent.status);
  const sold = { report: { amountMinor: 500 } };
  expect(statusOf(returned.of, sold, ", returned_minor = 500")).toBe(returned.status);
  expect(statusOf(returned.of, sold, ", notified_return_minor = 500")).toBe(returned.status);
  expect(statusOf(returned.of, {}, ", returned_minor = 999")).toBe(returned.status);
  expect(statusOf(returned.of, sold, ", returned_minor = 499")).toBe("Success");
  const open = `, returned_minor = 500, open_return = '{"operationId":"1"}'`;
  expect(statusOf(returned.of, sold, open)).toBe("Success");
});

test("an archived order is listed under the status that it had", () => {
  const { database } = fullJournal(10);
  const statusOf = (end: object): unknown =>
    database
      .prepare("UPDATE archived_order SET kept = ? WHERE transaction_id = ? RETURNING status")
      .get(JSON.stringify({ end }), idOf(1, "a"))?.["status"];
  for (const phase of phasesWith((row) => row.archive !== "never" && row.status !== "as ended")) {
    expect(statusOf({ phase, chargedMinor: 999, returnedMinor: 0 })).toBe(phaseTable[phase].status);
  }
  for (const [status, answered] of Object.entries(outcomes)) {
    for (const phase of phasesWith((row) => row.status === "as ended")) {
      expect(statusOf({ phase, outcome: { status } })).toBe(answered);
    }
  }
  const { of: phase, status } = variantTable.returned;
  expect(statusOf({ phase, chargedMinor: 999, returnedMinor: 999 })).toBe(status);
  expect(statusOf({ phase, chargedMinor: null, returnedMinor: 999 })).toBe(status);
  expect(statusOf({ phase, chargedMinor: 999, returnedMinor: 998 })).toBe("Success");
  expect(paymentStatuses).toContain(status);
});
