import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openForReading } from "../../../src/shared/store/sqlite.ts";
import type { AuditRule } from "../../../src/tp-manager/attempts/audit-rules.ts";
import auditRules from "../../../src/tp-manager/attempts/audit-rules-en.json" with { type: "json" };
import { phaseTable } from "../../../src/tp-manager/attempts/phase-table.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { audit, everyPhase, packed } from "../../support/house/every-phase.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { report } from "../../support/terminals/reports.ts";

let intact: Buffer | undefined;
/** Returns a copy of a journal with every phase, which is made once because that takes long. */
async function journal(): Promise<string> {
  intact ??= readFileSync(await everyPhase());
  const path = join(temporaryFolder(), "journal.db");
  writeFileSync(path, intact);
  return path;
}

test("the audit finds no fault in an intact journal with every phase", async () => {
  const path = await journal();
  const found = audit(path);
  expect(found.faults).toEqual([]);
  expect(found.unknown).toEqual({});
  expect(Object.values(found.counts).every((count) => count === 0)).toBe(true);
  expect(found.attempts).toBeGreaterThan(10);
  const database = openForReading(path);
  const rows = database.prepare("SELECT DISTINCT phase FROM attempt").all();
  database.close();
  const missing = Object.keys(phaseTable).filter(
    (name) => !rows.some(({ phase }) => phase === name),
  );
  // A running reversal has the same steps as a reversal whose outcome was lost.
  expect(missing).toEqual(["reversing"]);
});

test.each([
  ["steps of an older version", "UPDATE attempt_event SET input = NULL"],
  ["a journal of the previous version", "ALTER TABLE attempt_event DROP COLUMN input"],
])("the audit reads %s without a fault", async (_what, sql) => {
  const path = await journal();
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  const { faults, unknown } = audit(path);
  expect({ faults, unknown }).toEqual({ faults: [], unknown: {} });
});

const of = (orderId: string): string =>
  `transaction_id = (SELECT transaction_id FROM attempt WHERE order_id = '${orderId}' LIMIT 1)`;
const card = ["4111", "1111", "1111", "1111"].join(" ");

const breakages: readonly (readonly [what: string, rule: AuditRule, sql: string])[] = [
  ["a step twice", "command-twice", step("sold", "end-completed", "{}")],
  ["a step of another phase", "illegal-step", step("declined", "goods-decided", "{}")],
  ["a proof after a clear end", "other-end", step("declined", "recovery-charged", observed())],
  ["a reversal of nothing", "command-twice", step("declined", "reversal-begins", "{}")],
  [
    "steps that are gone",
    "other-end",
    `DELETE FROM attempt_event WHERE ${of("sold")} AND kind LIKE 'end-%'`,
  ],
  [
    "an end that was not good",
    "charged-without-proof",
    `UPDATE attempt_event SET kind = 'end-lost', detail = '{"text":""}'
     WHERE ${of("sold")} AND kind = 'end-completed'`,
  ],
  [
    "a report of another amount",
    "charged-without-proof",
    `UPDATE attempt_event SET detail = json_set(detail, '$.report.amountMinor', 5)
     WHERE ${of("sold")} AND kind = 'report'`,
  ],
  [
    "a committed approval that was answered as not charged",
    "not-charged-after-approval",
    `UPDATE attempt SET phase = 'not-charged', state =
       '{"phase":"not-charged","outcome":{"status":"failed"}}' WHERE order_id = 'sold'`,
  ],
  [
    "a state that its events do not lead to",
    "other-end",
    `UPDATE attempt SET state = json_set(state, '$.why', 'another reason')
     WHERE order_id = 'unknown'`,
  ],
  [
    "an end that forgot our cancel",
    "illegal-step",
    `UPDATE attempt_event SET input = '{"v":1}' WHERE ${of("cancelled")} AND kind LIKE 'end-%'`,
  ],
  ["a phase that is not the state's", "phase-column", phase("sold", "in-doubt")],
  [
    "a charge of another amount",
    "wrong-amount",
    `UPDATE attempt SET state = json_set(state, '$.report.amountMinor', 5)
     WHERE order_id = 'sold'`,
  ],
  [
    "a charge in another currency",
    "wrong-amount",
    `UPDATE attempt SET state = json_set(state, '$.report.currencyNumeric', '840')
     WHERE order_id = 'sold'`,
  ],
  [
    "a reversal of another amount",
    "reversed-amount",
    `UPDATE attempt SET state = json_set(state, '$.report.amountMinor', 5)
     WHERE order_id = 'reversed'`,
  ],
  [
    "a reversal of another sale",
    "reversed-amount",
    `UPDATE attempt SET state = json_set(state, '$.report.originalTrace', '000999')
     WHERE order_id = 'reversed'`,
  ],
  [
    "two charges of one order",
    "charged-twice",
    "UPDATE attempt SET order_id = 'sold', number = 2 WHERE order_id = 'sold-2'",
  ],
  [
    "one sale for two orders",
    "same-sale-twice",
    `UPDATE attempt SET (state, receipt_number, trace_number) =
       (SELECT state, receipt_number, trace_number FROM attempt WHERE order_id = 'sold')
     WHERE order_id = 'sold-2'`,
  ],
  ["a charge without a hand-off", "hand-off-missing", `DELETE FROM hand_off WHERE ${of("sold")}`],
  [
    "a hand-off of another amount",
    "hand-off-wrong",
    `UPDATE hand_off SET body = json_set(body, '$.amountMinor', 5) WHERE ${of("sold")}`,
  ],
  [
    "a hand-off of a decline",
    "hand-off-wrong",
    `UPDATE hand_off SET transaction_id = (SELECT transaction_id FROM attempt
       WHERE order_id = 'declined' AND number = 1) WHERE ${of("sold")}`,
  ],
  [
    "a charge whose hand-off is withdrawn",
    "hand-off-wrong",
    `UPDATE hand_off SET withdrawn = 2 WHERE ${of("sold")}`,
  ],
  [
    "a card number in a ticket",
    "card-number",
    `UPDATE attempt SET ticket = 'CARD|${card}' WHERE order_id = 'sold'`,
  ],
  [
    "a card number in a step",
    "card-number",
    `UPDATE attempt_event SET detail = json_set(detail, '$.seen', '${card}')
     WHERE ${of("declined")} AND kind = 'report'`,
  ],
  [
    "a card number in an event",
    "card-number",
    `UPDATE event SET data = json_set(data, '$.message', '${card}') WHERE id = 1`,
  ],
  [
    "a state that is cut off",
    "unreadable",
    // Only a faulty disk does that: SQLite could not make the column of such a state.
    `DROP INDEX attempt_status; ALTER TABLE attempt DROP COLUMN status;
     UPDATE attempt SET state = '{"phase":'`,
  ],
];

test("finds no fault in a reversal that names the last digits of a longer trace", async () => {
  const at = house();
  const sale = report({ traceNumber: "01000123" });
  at.terminal.script = (_order, observer) => {
    observer.report(sale);
    observer.ackArrived();
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  at.terminal.reversal = (_order, observer) => {
    observer.report(report({ traceNumber: "01000124", originalTrace: "000123" }));
    observer.ackArrived();
    return Promise.resolve({ end: "completed", ticket: "" });
  };
  await pay(at, request("A-1"));
  at.terminal.stores(sale);
  await at.afterSale.reverse("A-1");
  expect(at.journal.attempts.decisive("A-1")?.state.phase).toBe("reversed");
  at.close();
  expect(audit(at.path).faults).toEqual([]);
});

test.each(breakages)("finds %s: %s, also when its texts are packed", async (_what, rule, sql) => {
  const path = await journal();
  const database = new DatabaseSync(path);
  database.exec("PRAGMA foreign_keys = OFF");
  database.exec(sql);
  database.close();
  const { counts, faults } = audit(path);
  expect(counts[rule]).toBeGreaterThan(0);
  expect(faults.find((fault) => fault.rule === rule)?.says).not.toBe("");
  packed(path);
  expect(audit(path).faults).toEqual(faults);
});

test("each rule of the audit is broken by one of these faults", () => {
  const broken = new Set(breakages.map(([, rule]) => rule));
  expect(Object.keys(auditRules).filter((rule) => !broken.has(rule as AuditRule))).toEqual([]);
});

test.each([
  ["of a kind", "charged-by-magic", step("sold", "charged-by-magic", "{}")],
  [
    "of a version",
    "report",
    `UPDATE attempt_event SET input = '{"v":3}' WHERE ${of("sold")} AND kind = 'report'`,
  ],
])("a step %s that only a newer program knows is counted as unknown", async (_what, kind, sql) => {
  const path = await journal();
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  expect(audit(path)).toMatchObject({ faults: [], unknown: { [kind]: 1 } });
});

function step(orderId: string, kind: string, detail: string): string {
  return `INSERT INTO attempt_event (transaction_id, at_ms, kind, detail)
    SELECT transaction_id, 0, '${kind}', '${detail}' FROM attempt WHERE order_id = '${orderId}'`;
}

function observed(): string {
  return JSON.stringify({ observation: { last: { kind: "transaction", report: report() } } });
}

function phase(orderId: string, to: string): string {
  return `UPDATE attempt SET phase = '${to}' WHERE order_id = '${orderId}'`;
}
