import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { audit } from "../../support/house/every-phase.ts";
import {
  expectReplayed,
  expectSold,
  kiosk,
  restart,
  sell,
} from "../../support/house/two-store-kiosk.ts";
import { copyStore } from "../../support/house/two-stores.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

/**
 * A journal that was restored from an older copy, in which `charged` is charged and `open` is sent.
 * Since the copy `open` and `gone` were charged and reversed, and `new` and `later` were charged.
 */
async function takenOver(): Promise<string> {
  const at = await kiosk();
  const copies = temporaryFolder();
  await expectSold(at, "charged");
  const { terminal, journal } = at.manager;
  const sells = terminal.script;
  terminal.script = async (order, observer) => {
    journal.store.copied();
    copyStore(at.folder, copies, "journal");
    journal.store.copied();
    return await sells(order, observer);
  };
  await sell(at, "open");
  terminal.script = sells;
  await at.manager.afterSale.reverse("open");
  await expectSold(at, "gone");
  await at.manager.afterSale.reverse("gone");
  for (const order of ["new", "later"]) await expectSold(at, order);
  at.manager.close();
  copyStore(copies, at.folder, "journal");
  const manager = restart(at);
  for (const order of ["charged", "new", "later"]) await expectReplayed(at, order);
  // The imported order `later` gets further steps here.
  manager.terminal.reversal = () => Promise.resolve(lost("line broken"));
  await manager.afterSale.reverse("later").catch(() => undefined);
  at.manager.close();
  return join(at.folder, "journal.db");
}

test("imported attempts are replayed like any others", async () => {
  const path = await takenOver();
  const database = new DatabaseSync(path);
  const steps = database.prepare("SELECT kind FROM attempt_event WHERE kind = 'taken-over'").all();
  database.close();
  expect(steps.length).toBeGreaterThan(2);
  const { faults, unknown } = audit(path);
  expect({ faults, unknown }).toEqual({ faults: [], unknown: {} });
});

const of = (orderId: string): string =>
  `transaction_id = (SELECT transaction_id FROM attempt WHERE order_id = '${orderId}' LIMIT 1)`;

test.each([
  [
    "another sale than the supervisor has",
    "other-end",
    `UPDATE attempt SET state = json_set(state, '$.report.receiptNumber', '0999')
     WHERE order_id = 'new'`,
  ],
  [
    "answered as not charged although the supervisor has the charge",
    "other-end",
    `UPDATE attempt SET phase = 'not-charged', state =
       '{"phase":"not-charged","outcome":{"status":"failed"}}' WHERE order_id = 'new'`,
  ],
  [
    "charged here although the supervisor has it as reversed",
    "other-end",
    `UPDATE attempt SET phase = 'charged', state = json_object('phase', 'charged', 'report',
       json_extract(state, '$.sale.report'), 'by', 'payment') WHERE order_id = 'gone'`,
  ],
  [
    "imported twice",
    "illegal-step",
    `INSERT INTO attempt_event (transaction_id, at_ms, kind, detail)
       SELECT transaction_id, at_ms, kind, detail FROM attempt_event
       WHERE ${of("new")} AND kind = 'taken-over'`,
  ],
  [
    "of another amount",
    "wrong-amount",
    `UPDATE attempt SET state = json_set(state, '$.report.amountMinor', 5) WHERE order_id = 'new'`,
  ],
])("the audit finds a fault of an imported attempt: %s", async (_what, rule, sql) => {
  const path = await takenOver();
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  expect(audit(path).faults.map((fault) => fault.rule)).toContain(rule);
});
