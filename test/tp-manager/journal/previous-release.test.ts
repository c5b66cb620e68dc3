import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { newId } from "../../../src/shared/new-id.ts";
import type { AttemptInput } from "../../../src/tp-manager/attempts/attempt-input.ts";
import { AttemptWriter } from "../../../src/tp-manager/attempts/attempt-writer.ts";
import { type Goods, lastReportOf } from "../../../src/tp-manager/attempts/payment.ts";
import { paymentStatuses } from "../../../src/tp-manager/attempts/phase-table.ts";
import { answerOf } from "../../../src/tp-manager/orders/answer.ts";
import { TestClock } from "../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import {
  audit,
  everyPhase,
  PACKED_ON,
  packed,
  type Release,
} from "../../support/house/every-phase.ts";
import { type House, house, pay, request } from "../../support/house/payment-house.ts";
import {
  firstVersion,
  hasPrevious,
  previousRelease,
} from "../../support/house/previous-release.ts";
import { CountingTerminal } from "../../support/terminals/counting-terminal.ts";
import { baseline, report } from "../../support/terminals/reports.ts";
import { lost } from "../../support/terminals/scripted-terminal.ts";

/** The journal of {@link everyPhase} as the previous release wrote it. */
const kept = join(import.meta.dirname, "files/previous-release.db.gz");

function unpacked(): string {
  const path = join(temporaryFolder(), "journal.db");
  writeFileSync(path, gunzipSync(readFileSync(kept)));
  return path;
}

const TOMORROW = new Date(2026, 0, 16, 9, 0, 0).getTime();
const note = "seen at the terminal";
const everything = { sinceMs: 0, status: null, limit: 100, before: null };

/** Reads a journal that another release wrote, and goes on with its orders. */
async function goOn({ house, pay }: Release, path: string): Promise<Record<string, string>> {
  const at = house(path, undefined, { clock: new TestClock(TOMORROW) });
  const terminal = new CountingTerminal(at, 50);
  at.terminal.last = { kind: "not-told", why: "it names none" };
  at.start();
  await at.clock.advance(60_000);
  const ends: Record<string, string> = {};
  for (const { attempt } of at.listings.list(everything)) {
    const { orderId } = attempt.request;
    const found = await at.orders.lookUp(orderId);
    ends[orderId] = found.attempt.state.phase;
  }
  expect((await pay(at, request("sold"))).replayed).toBe(true);
  await at.settle({ orderId: "unknown", outcome: "not_charged", note });
  await at.settle({ orderId: "last", outcome: "reversed", note });
  await at.settle({ orderId: "running", outcome: "not_charged", note });
  await pay(at, request("new"));
  terminal.sells();
  await at.afterSale.reverse("new");
  const after = {
    unknown: "not-charged",
    last: "reversed",
    running: "not-charged",
    new: "reversed",
  };
  for (const [order, phase] of Object.entries(after)) {
    const { attempt } = await at.orders.lookUp(order);
    expect([order, attempt.state.phase]).toEqual([order, phase]);
  }
  at.close();
  return ends;
}

/** Orders of {@link everyPhase} after a start at which the terminal reported nothing. */
const phases = {
  sold: "charged",
  "sold-2": "charged",
  goods: "charged",
  "proved-charged": "charged",
  declined: "charged",
  "settled-charged": "charged",
  reversed: "reversed",
  cancelled: "not-charged",
  "settled-not-charged": "not-charged",
  "proved-not-charged": "not-charged",
  unknown: "in-doubt",
  running: "in-doubt",
  last: "reversal-in-doubt",
};

const clean = { faults: [], unknown: {} };

/** The findings of an audit: whole, because a match would pass over further members. */
const found = ({ faults, unknown }: ReturnType<typeof audit>) => ({ faults, unknown });

test("a journal of the previous release is audited without a fault and goes on", async () => {
  const path = unpacked();
  expect(found(audit(path))).toEqual(clean);
  expect(await goOn({ house, pay }, path)).toEqual(phases);
  expect(found(audit(path))).toEqual(clean);
});

const proof = { facts: ["the numbers are equal"], assumes: ["sole-user"], rules: 1 } as const;
const aborted = { end: "aborted", code: "6C", text: "", reason: "cancelled", ticket: "" } as const;

/** Writes attempts, each of another order. */
function writerOf({ journal, clock, log }: House) {
  return (orderId: string, ...inputs: AttemptInput[]): void => {
    const begun = { transactionId: newId(), request: request(orderId), baseline, startedAtMs: 1 };
    const writer = new AttemptWriter(journal.attempts.begin(begun), { journal, clock, log });
    for (const input of inputs) writer.advance(input);
  };
}

/** Writes verdicts that `everyPhase` does not reach, with reports of their own. */
function addVerdicts(path: string): void {
  const at = house(path);
  const write = writerOf(at);
  const sale = (receiptNumber: string) =>
    report({ receiptNumber, traceNumber: `00${receiptNumber}` });
  const because = "it is so";
  const [end, gone] = [
    { input: "end", end: aborted },
    { input: "end", end: lost("gone") },
  ] as const;
  write("late", end, { input: "found-charged", report: sale("0801"), because, proof });
  write("doubt", end, { input: "found-in-doubt", report: sale("0802"), because, proof });
  const held = { input: "hold", report: sale("0806"), decideByMs: 1 } as const;
  const silence = { goods: "not-issued", unsaid: true } as const;
  write("out", held, { input: "decide", decision: silence, why: "late" }, end);
  const reported = { input: "report", report: sale("0807"), judgement: "agrees" } as const;
  write("line", reported, gone, { input: "proved-not-charged", because, proof, takenBack: true });
  const late = {
    input: "late-result",
    report: sale("0803"),
    judgement: "agrees",
    because,
  } as const;
  write("told", gone, late);
  write(
    "back",
    { input: "report", report: sale("0804"), judgement: "agrees" },
    { input: "end", end: { end: "completed", ticket: "" } },
    {
      input: "found-reversed",
      report: report({ receiptNumber: "0805", traceNumber: "000805", originalTrace: "000804" }),
      because,
    },
  );
  at.close();
}

const verdicts = {
  late: "charged",
  doubt: "in-doubt",
  told: "charged",
  back: "reversed",
  out: "not-charged",
  line: "not-charged",
};

// The previous release's code comes out of git; a clone without history has none.
test.skipIf(!hasPrevious)("the previous release goes on with a journal of this one", async () => {
  const before = await previousRelease();
  const path = await everyPhase();
  addVerdicts(path);
  expect(found(audit(path))).toEqual(clean);
  expect(await goOn(before, path)).toEqual({ ...phases, ...verdicts });
  expect(found(before.audit(path))).toEqual(clean);
  expect(found(audit(path))).toEqual(clean);
  const at = house(path);
  expect(at.orders.decisive("unknown").state.phase).toBe("not-charged");
});

test.skipIf(!hasPrevious)("a release of version 1 goes on with a journal of this one", async () => {
  const before = await firstVersion();
  const path = await everyPhase();
  addVerdicts(path);
  expect(await goOn(before, path)).toEqual({ ...phases, ...verdicts });
  const unknown = { "end-aborted": 1, "recovery-not-charged": 1 };
  expect(found(before.audit(path))).toEqual({ faults: [], unknown });
  expect(found(audit(path))).toEqual(clean);
});

test.skipIf(!hasPrevious)("the previous release counts a late report about goods", async () => {
  const before = await previousRelease();
  const path = await everyPhase();
  const { journal, clock, log, close } = house(path);
  const goods = journal.attempts.decisive("goods");
  if (!goods) throw new Error("there is no such order");
  const writer = new AttemptWriter(goods, { journal, clock, log });
  writer.advance({ input: "decide-late", decision: { goods: "not-issued" } });
  close();
  expect(found(audit(path))).toEqual(clean);
  expect(await goOn(before, path)).toEqual(phases);
  const unknown = { "goods-decided-late": 1 };
  expect(found(before.audit(path))).toEqual({ faults: [], unknown });
});

/** Two-phase sales in each state that version 1 does not compute by itself, and a reversed one. */
function addGoods(at: House): void {
  const write = writerOf(at);
  const held = (receiptNumber: string) => {
    const sale = report({ receiptNumber, traceNumber: `00${receiptNumber}` });
    return { input: "hold", report: sale, decideByMs: 1 } as const;
  };
  const decided = (decision: Goods["decision"] & object) =>
    ({ input: "decide", decision, why: "w" }) as const;
  const silence = decided({ goods: "not-issued", unsaid: true });
  const issued = decided({ goods: "issued" });
  const [gone, completed] = [lost("gone"), { end: "completed", ticket: "" }] as const;
  const back = report({ receiptNumber: "0702", traceNumber: "000702", originalTrace: "000701" });
  write("open", held("0703"), silence, { input: "end", end: gone });
  write("out", held("0704"), issued, { input: "end", end: gone });
  write("silent", held("0705"), silence, { input: "end", end: aborted });
  write(
    "back",
    held("0701"),
    issued,
    { input: "end", end: completed },
    { input: "reverse", baseline },
    { input: "report", report: back, judgement: "agrees" },
    { input: "end", end: completed },
  );
}

test.skipIf(!hasPrevious)("back to version 1 and forth again: no audit finds a fault", async () => {
  const before = await firstVersion();
  const path = join(temporaryFolder(), "journal.db");
  const at = house(path);
  addGoods(at);
  at.close();
  const unknown = { "end-aborted": 1 };
  expect(found(audit(path))).toEqual(clean);
  expect(found(before.audit(path))).toEqual({ faults: [], unknown });
  const former = before.house(path);
  for (const orderId of ["open", "out"]) {
    await former.settle({ orderId, outcome: "not_charged", note });
  }
  former.close();
  expect(found(before.audit(path))).toEqual({ faults: [], unknown });
  expect(found(audit(path))).toEqual(clean);
  const again = house(path);
  await again.settle({ orderId: "open", outcome: "charged", note });
  const out = again.journal.attempts.decisive("out");
  if (!out) throw new Error("there is no such order");
  again.arbiter.running.decideLate(out, { goods: "partly-issued", amountMinor: 5 });
  again.close();
  expect(found(audit(path))).toEqual(clean);
});

test("a journal of a version that was never released is understood", async () => {
  const path = join(temporaryFolder(), "journal.db");
  const at = house(path);
  addGoods(at);
  at.close();
  const database = new DatabaseSync(path);
  database.exec(`UPDATE attempt_event SET
      input = json_set(input, '$.v', 2, '$.mayBeOut', json('true')) WHERE kind = 'approved';
    UPDATE attempt_event SET detail = json_remove(detail, '$.unsaid'),
      input = json_set(json_remove(input, '$.decision.unsaid'), '$.unsaid', json('true'))
      WHERE kind = 'goods-decided' AND json_extract(detail, '$.unsaid');
    UPDATE attempt SET state = json_set(json_remove(state, '$.goods.decision.unsaid'),
      '$.goods.mayBeOut', json('true')) WHERE phase = 'in-doubt'`);
  database.close();
  expect(found(audit(path))).toEqual(clean);
  const again = house(path);
  const outcome = { newer: "DELIVERY_UNCONFIRMED" };
  for (const orderId of ["open", "out"]) {
    const { attempt } = await again.settle({ orderId, outcome: "not_charged", note });
    expect(attempt.state).toMatchObject({ outcome });
  }
  again.close();
  expect(found(audit(path))).toEqual(clean);
});

test("the audit accepts that an older version left a code out, and no other code", () => {
  const path = join(temporaryFolder(), "journal.db");
  const at = house(path);
  addGoods(at);
  at.close();
  const change = (sql: string): string[] => {
    const database = new DatabaseSync(path);
    database.exec(`UPDATE attempt SET state = ${sql} WHERE order_id = 'silent'`);
    database.close();
    return audit(path).faults.map(({ rule }) => rule);
  };
  expect(change("json_remove(state, '$.outcome.newer')")).toEqual([]);
  expect(change("json_set(state, '$.outcome.newer', 'SALE_TAKEN_BACK')")).toEqual(["other-end"]);
});

/** The kinds and details of steps, as answers publish them; texts for people may change. */
function published(path: string): object[] {
  const database = new DatabaseSync(path);
  const rows = database
    .prepare("SELECT order_id, kind, detail FROM attempt_event JOIN attempt USING (transaction_id)")
    .all();
  database.close();
  return rows.map(({ order_id: order, kind, detail }) => {
    const { because: _, ...facts } = JSON.parse(String(detail));
    return { order, kind, told: facts };
  });
}

/** All that this release answers about the orders of a journal, and all that it finds by number. */
async function answers(path: string) {
  const at = house(path, undefined, { clock: new TestClock(PACKED_ON) });
  const { journal } = at;
  const listed = at.listings.list(everything);
  const known = [];
  for (const { attempt } of listed) {
    const { state, transactionId } = attempt;
    const found = await at.orders.lookUp(attempt.request.orderId);
    const next = journal.records.nextCommand(transactionId);
    known.push({ found, answer: answerOf(found.attempt, found.delivery), next });
    known.push(journal.attempts.since(transactionId), journal.attempts.hadGoods(attempt));
    const record = lastReportOf(state);
    if (record) known.push(journal.records.sharingName(record, 0));
    known.push(journal.reconciliations.entriesUpTo(transactionId, 100));
  }
  const sent = [...journal.records.sent()];
  const ofStatus = paymentStatuses.map((status) => at.listings.list({ ...everything, status }));
  at.close();
  return structuredClone({ listed, ofStatus, known, sent, audit: audit(path) });
}

/** What an audit finds in a copy of a journal in which two charged orders became one. */
function foundTwice(path: string): object {
  const copy = join(temporaryFolder(), "journal.db");
  copyFileSync(path, copy);
  const database = new DatabaseSync(copy);
  database.exec(`UPDATE attempt SET order_id = 'sold', number = 9,
    receipt_number = (SELECT receipt_number FROM attempt WHERE order_id = 'sold'),
    trace_number = (SELECT trace_number FROM attempt WHERE order_id = 'sold')
    WHERE order_id = 'sold-2'`);
  database.close();
  return audit(copy);
}

/** What the archive keeps of the orders of a copy of a journal. */
function archived(path: string): object[] {
  const copy = join(temporaryFolder(), "journal.db");
  copyFileSync(path, copy);
  const { journal, close } = house(copy);
  journal.archive.putAway(PACKED_ON, 100);
  const rows = journal.database.prepare("SELECT * FROM archived_order ORDER BY rowid").all();
  close();
  return rows;
}

test("a packed journal gives the same answers, goes on, and can be archived", async () => {
  const path = await everyPhase();
  addVerdicts(path);
  await answers(path); // hands off what still waits
  const before = [await answers(path), archived(path), foundTwice(path)];
  expect(before[2]).toMatchObject({ faults: [{ rule: "charged-twice" }] });
  expect(packed(path)).toBeGreaterThan(10);
  expect([await answers(path), archived(path), foundTwice(path)]).toEqual(before);
  expect(await goOn({ house, pay }, path)).toEqual({ ...phases, ...verdicts });
  expect(found(audit(path))).toEqual(clean);
});

test.skipIf(!hasPrevious)("the previous release goes on for two weeks of packing", async () => {
  const before = await previousRelease();
  const path = await everyPhase();
  addVerdicts(path);
  expect(packed(path, 14)).toBe(0);
  expect(await goOn(before, path)).toEqual({ ...phases, ...verdicts });
  expect(found(before.audit(path))).toEqual(clean);
  expect(packed(path)).toBeGreaterThan(10);
  expect(() => before.house(path)).toThrow("start the newer program");
  house(path).close();
  expect(() => before.house(path)).toThrow("start the newer program");
});

test("steps keep the names and members of the previous release", async () => {
  expect(published(await everyPhase())).toMatchObject(published(unpacked()));
});
