import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { type Migration, openDatabase, sqlOf } from "../../../src/shared/store/sqlite.ts";
import type { ClaimedItem } from "../../../src/supervisor/outbox/item-rows.ts";
import { OutboxAdmin } from "../../../src/supervisor/outbox/outbox-admin.ts";
import { OutboxStore } from "../../../src/supervisor/outbox/outbox-store.ts";
import { noHistory } from "../../../src/supervisor/outbox/retry-policy.ts";
import { noUncertainSend } from "../../../src/supervisor/outbox/uncertain-send-policy.ts";
import { supervisorMigrations } from "../../../src/supervisor/supervisor-schema.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { Random } from "../../support/inputs/random.ts";
import { isWhole } from "../../support/run/scope.ts";
import { insertAsBefore, sampleTransaction } from "../sample-transaction.ts";

const ITEMS = 12;
const STEPS = isWhole ? 400 : 200;
const SPAN_MS = 1_000;

interface Waiting {
  readonly sequence: number;
  readonly next: number;
  readonly delayed: number;
  readonly queued: number;
}

/** What waits, read without an index, longest due first. */
function waiting(database: DatabaseSync, lookUp: 0 | 1): Waiting[] {
  const sql = `SELECT sequence, next_try_at_ms AS next, delayed_at_ms AS delayed,
      queued_at_ms AS queued FROM outbox NOT INDEXED
    WHERE state = 'pending' AND claimed_at_ms IS NULL AND look_next = ${lookUp}
    ORDER BY next_try_at_ms, sequence`;
  return database.prepare(sql).all() as unknown as Waiting[];
}

/** Due, or the clock went back to before the beginning of the delay. */
const dueAt = (nowMs: number) => (item: Waiting) => item.next <= nowMs || item.delayed > nowMs;

function outbox(
  path = join(temporaryFolder(), "supervisor.db"),
  migrations = supervisorMigrations,
) {
  const database = openDatabase(path, migrations);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  database.exec("PRAGMA synchronous = OFF"); // the same steps, without waits for the disk
  return { database, path, store: new OutboxStore(database), admin: new OutboxAdmin(database) };
}

function inDoubt(database: DatabaseSync): unknown {
  const sql = "SELECT count(*) AS n FROM outbox WHERE state = 'pending' AND sent_at_ms IS NOT NULL";
  return database.prepare(sql).get()?.["n"];
}

/** Ends a claim in one of the ways that there are. */
function end(store: OutboxStore, item: ClaimedItem, random: Random, nowMs: number): void {
  const nextTryAtMs = random.happens(0.5) ? nowMs + random.between(1, SPAN_MS) : null;
  const lookUpNext = random.happens(1 / 3);
  const uncertain = lookUpNext
    ? { ...noUncertainSend, lookUpNext, sentAtMs: nowMs, orders: 1 }
    : noUncertainSend;
  const state = random.happens(1 / 8) ? ("parked" as const) : ("pending" as const);
  const update = { state, nextTryAtMs, uncertain, reason: null };
  if (item.uncertain.lookUpNext) {
    store.endLookup(item, update, nowMs);
    return;
  }
  const answer = { httpStatus: null, code: null, description: "", ambiguous: false, notes: [] };
  const times = { number: item.number, startedAtMs: nowMs, endedAtMs: nowMs };
  const ended = {
    item,
    attempt: { ...answer, ...times, class: "unavailable" as const },
    update: { ...update, history: noHistory, redirectUrl: null },
  };
  store.endAndClaim([ended], { which: "due", limit: 0, nowMs });
}

/** In each second run the clock also goes back. */
const seeds = isWhole ? [1, 2, 3, 4] : [1, 2];

test.each(seeds)("of the waiting items the one due longest is taken (seed %i)", (seed) => {
  const random = new Random(seed);
  const { database, store, admin } = outbox();
  const ids: string[] = [];
  for (let step = 0; step < STEPS; step++) {
    // The clock goes forward as a rule, and back at times.
    const isBack = seed % 2 === 0 && random.happens(1 / 10);
    const nowMs = isBack ? random.between(1, SPAN_MS) : 10_000 + step * 100;
    if (ids.length < ITEMS) {
      const transaction = sampleTransaction({ orderId: `A-${step}` });
      store.add(transaction, nowMs, { mayBeSent: random.happens(1 / 5) });
      ids.push(transaction.transactionId);
    }
    for (const lookUp of [0, 1] as const) {
      const all = waiting(database, lookUp);
      expect(store.nextDueAtMs(lookUp === 0 ? "send" : "lookup")).toBe(all[0]?.next);
      const due = all.filter(dueAt(nowMs));
      const item = store.claim(lookUp === 0 ? "due" : "lookup", nowMs);
      const wentBack = all.some(({ delayed, next }) => delayed > nowMs && next > delayed);
      if (wentBack) expect(due.map(({ sequence }) => sequence)).toContain(item?.sequence);
      else expect(item?.sequence).toBe(due[0]?.sequence);
      if (item) end(store, item, random, nowMs);
    }
    if (random.happens(1 / 6)) admin.requeue(random.pick(ids), nowMs);
    if (random.happens(1 / 40)) admin.drop(random.pick(ids), "", nowMs);
    expect(admin.uncertain().inDoubt).toBe(inDoubt(database));
    const queued = [...waiting(database, 0), ...waiting(database, 1)].map((one) => one.queued);
    expect(store.oldestQueuedAtMs()).toBe(queued.length === 0 ? null : Math.min(...queued));
    const listed = admin.list("pending", 0, ITEMS).items.map(({ sequence }) => sequence);
    const both = [...waiting(database, 0), ...waiting(database, 1)].map((one) => one.sequence);
    expect(listed).toEqual(both.sort((a, b) => a - b));
  }
});

test("items that waited in doubt are counted in a database of an older version too", () => {
  const path = join(temporaryFolder(), "supervisor.db");
  const counts = (one: Migration) => sqlOf(one).includes("CREATE TABLE items_in_doubt");
  const steps = supervisorMigrations.findIndex(counts);
  const before = openDatabase(path, supervisorMigrations.slice(0, steps));
  const maybeSent = `UPDATE outbox SET ambiguous = 1, look_next = 1, sent_at_ms = 1,
    orders_possible = 1 WHERE transaction_id = ?`;
  for (const mayBeSent of [true, false, true]) {
    const transaction = sampleTransaction();
    insertAsBefore(before, transaction, 1);
    if (mayBeSent) before.prepare(maybeSent).run(transaction.transactionId);
  }
  before.close();
  const { database, admin, store } = outbox(path);
  expect([admin.uncertain().inDoubt, inDoubt(database)]).toEqual([2, 2]);
  const item = store.claim("lookup", 1);
  const update = {
    state: "sent",
    nextTryAtMs: null,
    uncertain: noUncertainSend,
    reason: null,
  } as const;
  if (item) store.endLookup(item, update, 2);
  expect(admin.uncertain().inDoubt).toBe(1);
});
