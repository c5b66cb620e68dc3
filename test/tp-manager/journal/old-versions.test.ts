import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import { openDatabase, sqlOf } from "../../../src/shared/store/sqlite.ts";
import {
  makeWhole,
  packedColumns,
  packedRow,
} from "../../../src/tp-manager/attempts/packed-texts.ts";
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

describe("SQL and packed texts", () => {
  const names = packedColumns.join("|");

  test("no migration after the first packing touches a column that may be packed", () => {
    const first = migrations.findIndex((one) => sqlOf(one).includes("CREATE TABLE packing"));
    const touching = new RegExp(`\\b(?:${names})\\b`);
    expect(migrations.slice(first + 1).filter((one) => touching.test(sqlOf(one)))).toEqual([]);
  });

  test("statements and indexes read only those members that a packed text has", () => {
    const { statements, database } = house().journal;
    const schema = database.prepare("SELECT sql FROM sqlite_schema WHERE type <> 'trigger'").all();
    const texts = [...statements.list, ...schema].map(({ sql }) => String(sql));
    const read = new RegExp(`\\b(?:\\w+[.])?(${names})\\b(?:, | ->>? )'[$][.]([\\w.]+)'`, "g");
    const members = texts.flatMap((text) =>
      [...text.matchAll(read)].map(([, a, b]) => `${a} ${b}`),
    );
    expect([...new Set(members)].sort()).toEqual([
      "detail amountMinor",
      "detail idempotencyKey",
      "detail report.amountMinor",
      "state goods", // only of an attempt in the phase "sent", which has not ended
      "state goods.decision",
      "state outcome.status",
      "state report.amountMinor",
    ]);
    const others = new RegExp(`json_\\w+\\((?:\\w+[.])?(?:${names})\\b(?!, '[$])`);
    expect(texts.filter((text) => others.test(text))).toEqual([]);
  });

  test("a statement that returns a column that may be packed returns the packed texts too", () => {
    const { statements, database } = house().journal;
    const wrong = statements.list.filter(({ sql }) => {
      const columns = database.prepare(sql).columns();
      const ours = columns.filter(({ table }) => /^attempt(?:_event)?$/.test(table ?? ""));
      const mayBe = ours.filter(({ column }) => packedColumns.some((name) => name === column));
      const isWhole = ours.some(({ column, name }) => column === "packed" && name === "packed");
      return mayBe.some(({ column, name }) => name !== column || !isWhole);
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  test("texts that this or an earlier release packed are read as they were", () => {
    const row = {
      state: '{"packed":0,"report":{"amountMinor":999}}',
      ticket: '{"packed":1}',
      packed: Buffer.from(
        "ePlotiDUxdhLCoAwDARQz+IBpGkSYZYeQHDr/S8i1Y3Gpvil+yGLBB5hShN+oA7ALek4Kx3xJek0" +
          "6po24AQiNehQSqqxT4WYeTugiIirIEUW7etY+A7BI38+eplVfMnfr/Y9BS8AcNDzxasDXgG7HW9Z" +
          "1KZhHlNfgA5I5LSnj7qxRcUCA8Nabg==",
        "base64",
      ),
    };
    const state = JSON.stringify({ phase: "charged", report: sold, by: "payment" });
    expect(makeWhole(row)).toMatchObject({ state, ticket: "Zahlung erfolgt|" });
  });

  test.each([
    ["with characters of all planes", "é€😀\u001e".repeat(50)],
    ["longer than the memory for a row", JSON.stringify({ lines: "Zahlung|".repeat(5_000) })],
    ["that is short", "{}"],
    ["that is no JSON", '{"phase":"charged","report":'.repeat(9)],
    ["that looks like a stub", '{"packed":0}'],
  ])("a text %s comes back as it was", (_what, ticket) => {
    const detail = JSON.stringify({ report: sold });
    const row = packedRow({ ticket, detail });
    expect(row["packed"]).toBeInstanceOf(Uint8Array);
    expect(makeWhole(row)).toMatchObject({ ticket, detail });
  });

  test.each([
    ["half a character", "ticket \ud800"],
    ["a NUL", "ticket \0"],
  ])("a row with %s in a text stays as it is", (_what, text) => {
    const row = { ticket: text.repeat(9), detail: JSON.stringify({ report: sold }) };
    expect(packedRow(row)).toBe(row);
  });
});
