import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import { openDatabase, sqlOf } from "../../../src/shared/store/sqlite.ts";
import { migrations } from "../../../src/tp-manager/journal/database/migrations.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { audit } from "../../support/house/every-phase.ts";
import { house, outcome, pay, request } from "../../support/house/payment-house.ts";
import { baseline, report } from "../../support/terminals/reports.ts";
import { saleReport } from "../../support/terminals/scripted-terminal.ts";

const CHARGED = "6e7c1a52-5b0e-4f43-8f0d-3f1f1f4a9b10";
const START_MS = new Date(2026, 0, 15, 12, 50, 0).getTime();
const sold = report({ receiptNumber: "0003", traceNumber: "000013", localTime: "125005" });

/** A journal as an earlier version wrote it: one order charged, one in doubt, one running. */
function journalOf(version: number): string {
  const path = join(temporaryFolder(), "journal.db");
  const database = openDatabase(path, migrations.slice(0, version));
  const attempt = (orderId: string, atMs: number, state: { phase: string }): void => {
    const sale = state.phase === "charged" ? sold : undefined;
    database
      .prepare(
        `INSERT INTO attempt (transaction_id, order_id, number, amount_minor, currency,
           generated_id, phase, request, state, baseline, started_at_ms, ended_at_ms,
           receipt_number, trace_number) VALUES (?, ?, 1, 999, 'EUR', 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        orderId === "charged" ? CHARGED : newId(),
        orderId,
        state.phase,
        JSON.stringify(request(orderId)),
        JSON.stringify(state),
        JSON.stringify(baseline),
        atMs,
        sale ? atMs : null,
        sale?.receiptNumber ?? null,
        sale?.traceNumber ?? null,
      );
  };
  const charged = { phase: "charged", report: sold, by: "payment" };
  attempt("charged", START_MS, charged);
  database.exec(`INSERT INTO telecollection (started_at_ms) VALUES (${START_MS + 1_000})`);
  const last = { report: report(), judgement: "agrees", acknowledged: false };
  attempt("in-doubt", START_MS + 2_000, { phase: "in-doubt", why: "lost", last } as never);
  attempt("running", START_MS + 3_000, { phase: "sent", last: null, goods: null } as never);
  database.close();
  return path;
}

const versions = migrations.slice(0, -1).map((_migration, index) => index + 1);

describe.each(versions)("a journal of schema %i", (version) => {
  test("keeps what was charged, and asks about what was open", async () => {
    const at = house(journalOf(version));
    at.terminal.last = { kind: "transaction", report: report() };
    at.start();
    await at.clock.advance(60_000);
    const phase = (orderId: string) => at.journal.attempts.decisive(orderId)?.state.phase;
    expect(["charged", "in-doubt", "running"].map(phase)).toEqual([
      "charged",
      "charged",
      "in-doubt",
    ]);
    expect((await pay(at, request("charged"))).replayed).toBe(true);
    await expect(at.afterSale.reverse("charged")).rejects.toMatchObject({
      code: "REVERSAL_REFUSED",
      charged: "yes",
    });
    expect(at.terminal.paid).toEqual([]);
    expect(outcome(await pay(at, request("new")))).toBe("Success");
    at.terminal.stores(saleReport(at.terminal.soldBefore));
    expect((await at.afterSale.reverse("new")).attempt.state.phase).toBe("reversed");
  });

  test("is audited as it lies", () => {
    const { attempts, steps, counts } = audit(journalOf(version));
    expect([attempts, steps, counts.unreadable]).toEqual([3, 0, 0]);
  });

  test("learns of money that went back since", async () => {
    const at = house(journalOf(version));
    const returned = { transactionId: CHARGED, returnedMinor: 999 };
    at.journal.returns.noteReturns([returned], at.clock.now());
    at.journal.returns.setReturnsReadTo(7);
    expect(at.journal.returns.returnsReadTo()).toBe(7);
    await expect(pay(at, request("charged"))).rejects.toMatchObject({ code: "ORDER_REVERSED" });
  });
});

/** The schema before the migration that restores withdrawn hand-offs of charged sales. */
const beforeRestore = migrations.findIndex((one) => sqlOf(one).includes("SET withdrawn = -1"));

test.each([
  ["hands off again a sale that is charged although its hand-off was withdrawn", "charged"],
  ["leaves the withdrawal of a sale that is not charged", "reversed"],
])("the migration of withdrawn hand-offs %s", (_, phase) => {
  const path = journalOf(beforeRestore);
  const database = openDatabase(path, migrations.slice(0, beforeRestore));
  const sale = { transactionId: CHARGED, orderId: "charged" };
  database.prepare("UPDATE attempt SET phase = ? WHERE transaction_id = ?").run(phase, CHARGED);
  database
    .prepare(
      `INSERT INTO hand_off (transaction_id, body, acknowledged, delivery, withdrawn, refused)
        VALUES (?, ?, 1, 'closed', 2, 'order unknown')`,
    )
    .run(CHARGED, JSON.stringify(sale));
  database.close();
  const again = { what: "charged", wasWithdrawn: true, transaction: sale };
  const { handOffs } = house(path).journal;
  const isCharged = phase === "charged";
  expect(handOffs.pendingHandOffs(10, 0, START_MS)).toEqual(isCharged ? [again] : []);
  expect(handOffs.handOff(CHARGED)?.delivery).toBe(isCharged ? "pending" : "closed");
});
