import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openDatabase, transaction } from "../../../src/shared/store/sqlite.ts";
import type { Transaction } from "../../../src/shared/transaction.ts";
import {
  type ClaimedItem,
  type ItemUpdate,
  insertItem,
} from "../../../src/supervisor/outbox/item-rows.ts";
import type { EndedTry } from "../../../src/supervisor/outbox/outbox-store.ts";
import { WINDOW_MAX } from "../../../src/supervisor/outbox/queue-window.ts";
import { noUncertainSend } from "../../../src/supervisor/outbox/uncertain-send-policy.ts";
import { supervisorMigrations } from "../../../src/supervisor/supervisor-schema.ts";
import { newStore } from "../../support/files/new-store.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { countLog } from "../../support/files/write-ahead-log.ts";
import { OutboxWithTries } from "../outbox-with-tries.ts";
import { sampleTransaction } from "../sample-transaction.ts";

const T0 = 1_000_000;
const history = { failures: 0, noResultSinceMs: null, noResultTries: 0 };

/** Of a commit of eight results and eight claims; a sync takes them all. */
const PAGES_OF_COMMIT_MAX = 12;
/** Of a payment that the gateway takes at once: one commit stores it, one ends its try. */
const PAGES_OF_PAYMENT_MAX = 14;
/** SQLite copies a log of 1000 pages back and begins it anew. */
const LOG_BYTES_MAX = 1_100 * 4_120;

/**
 * A transaction whose id follows the ids before it, as those of payments do that are seconds
 * apart. Ids of one millisecond are in random order, so the pages that they share would depend on
 * the speed of the machine.
 */
function successive(i: number): Transaction {
  const transactionId = `${String(i).padStart(8, "0")}-0000-7000-8000-000000000000`;
  return sampleTransaction({ transactionId, orderId: `A-${i}` });
}

function openStore(path = join(temporaryFolder(), "supervisor.db")): OutboxWithTries {
  const database = openDatabase(newStore(path, supervisorMigrations), supervisorMigrations);
  onTestFinished(() => database.close());
  return new OutboxWithTries(database);
}

/** Stores transactions of these orders, one per millisecond; returns their ids. */
function addOrders(store: OutboxWithTries, ...orderIds: string[]): string[] {
  return orderIds.map((orderId, i) => {
    const transaction = sampleTransaction({ orderId });
    store.add(transaction, T0 + i);
    return transaction.transactionId;
  });
}

function finish(
  store: OutboxWithTries,
  item: ClaimedItem,
  update: Partial<ItemUpdate>,
  attempt: Partial<EndedTry["attempt"]> = {},
): void {
  const ended = endedTry(item, update, attempt);
  store.endAndClaim([ended], { which: "due", limit: 0, nowMs: 0 });
}

function endedTry(
  item: ClaimedItem,
  update: Partial<ItemUpdate>,
  attempt: Partial<EndedTry["attempt"]> = {},
): EndedTry {
  return {
    item,
    attempt: {
      number: item.number,
      startedAtMs: item.startedAtMs,
      endedAtMs: item.startedAtMs,
      class: "unavailable",
      httpStatus: 503,
      code: null,
      description: "",
      ambiguous: false,
      notes: [],
      ...attempt,
    },
    update: {
      state: "pending",
      nextTryAtMs: null,
      history,
      uncertain: noUncertainSend,
      redirectUrl: null,
      reason: null,
      ...update,
    },
  };
}

test("a claimed item cannot be claimed again before its try is recorded", () => {
  const store = openStore();
  const [id = ""] = addOrders(store, "a");
  expect(store.claim("one", T0, id)).toMatchObject({ transactionId: id, orderId: "a", number: 1 });
  expect(store.claim("one", T0, id)).toBeUndefined();
  expect(store.claim("due", T0)).toBeUndefined();
  expect(store.claim("oldest", T0)).toBeUndefined();
});

test("two programs on one file never claim the same item", () => {
  const path = join(temporaryFolder(), "supervisor.db");
  const [one, other] = [openStore(path), openStore(path)];
  const ids = addOrders(one, "a", "b", "c", "d");
  const claimed = [one, other, one, other, one, other].map(
    (store) => store.claim("due", T0 + 10)?.transactionId,
  );
  expect(claimed).toEqual([...ids, undefined, undefined]);
});

test("items are claimed oldest first", () => {
  const store = openStore();
  const ids = addOrders(store, "a", "b", "c");
  expect(ids.map(() => store.claim("due", T0 + 10)?.orderId)).toEqual(["a", "b", "c"]);
});

test("an item whose delay runs is passed over, and is due when the delay is over", () => {
  const store = openStore();
  const [first = ""] = addOrders(store, "a", "b");
  const item = store.claim("one", T0, first);
  if (item) finish(store, item, { nextTryAtMs: T0 + 500 });
  expect(store.claim("due", T0 + 499)?.orderId).toBe("b");
  expect(store.claim("due", T0 + 499)).toBeUndefined();
  expect(store.nextDueAtMs("send")).toBe(T0 + 500);
  expect(store.claim("due", T0 + 500)).toMatchObject({ orderId: "a", number: 2 });
});

test("an item that failed follows those that were due before its next try", () => {
  const store = openStore();
  const [first = ""] = addOrders(store, "a", "b", "c");
  const item = store.claim("one", T0, first);
  if (item) finish(store, item, { nextTryAtMs: T0 + 500 });
  const order = [1, 2, 3].map(() => store.claim("due", T0 + 9_999)?.orderId);
  expect(order).toEqual(["b", "c", "a"]);
});

test("an item that keeps its slot stays before the younger ones", () => {
  const store = openStore();
  const [first = ""] = addOrders(store, "a", "b");
  const item = store.claim("one", T0, first);
  if (item) finish(store, item, { nextTryAtMs: null });
  expect(store.claim("due", T0 + 10)?.orderId).toBe("a");
});

test("a clock that goes back makes delayed items due instead of keeping them for years", () => {
  const store = openStore();
  const [id = ""] = addOrders(store, "a");
  const item = store.claim("one", T0 + 100, id);
  if (item) finish(store, item, { nextTryAtMs: T0 + 500 }, { endedAtMs: T0 + 100 });
  expect(store.claim("due", T0 + 100)).toBeUndefined();
  expect(store.claim("due", T0 - 999_999)?.orderId).toBe("a");
});

test("counts follow every change of state", () => {
  const store = openStore();
  const ids = addOrders(store, "a", "b", "c", "d");
  expect(store.counts()).toEqual({ pending: 4, sent: 0, parked: 0, closed: 0 });
  for (const [i, state] of (["sent", "parked", "closed"] as const).entries()) {
    const item = store.claim("one", T0, ids[i] ?? "");
    if (item) finish(store, item, { state });
  }
  expect(store.counts()).toEqual({ pending: 1, sent: 1, parked: 1, closed: 1 });
  expect(store.oldestQueuedAtMs()).toBe(T0 + 3);
});

test("an empty outbox has nothing due and no age", () => {
  const store = openStore();
  expect(store.nextDueAtMs("send")).toBeUndefined();
  expect(store.oldestQueuedAtMs()).toBeNull();
  expect(store.claim("due", T0)).toBeUndefined();
});

test("an ambiguous try marks its item for ever", () => {
  const store = openStore();
  const [id = ""] = addOrders(store, "a");
  for (const ambiguous of [true, false]) {
    const item = store.claim("one", T0, id);
    if (item) finish(store, item, {}, { ambiguous });
  }
  expect(store.delivery(id)).toEqual({ state: "pending", firstTryEnded: true, ambiguous: true });
});

test("the first try has ended when it is recorded, not when it begins", () => {
  const store = openStore();
  const [id = ""] = addOrders(store, "a");
  expect(store.delivery(id)?.firstTryEnded).toBe(false);
  const item = store.claim("one", T0, id);
  expect(store.delivery(id)?.firstTryEnded).toBe(false);
  if (item) finish(store, item, {});
  expect(store.delivery(id)?.firstTryEnded).toBe(true);
  store.claim("one", T0, id);
  expect(store.delivery(id)?.firstTryEnded).toBe(true);
});

test("of a long history the first and the last tries are kept, with their numbers", () => {
  const store = openStore();
  const [id = ""] = addOrders(store, "a");
  const [keptFirst, keptLast] = [10, 40];
  const tries = keptFirst + keptLast + 25;
  for (let i = 0; i < tries; i++) {
    const item = store.claim("one", T0 + i, id);
    if (item) finish(store, item, {}, { notes: [`note ${i}`] });
  }
  const attempts = store.attempts(id);
  const numbers = attempts.map(({ number }) => number);
  const range = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i);
  expect(numbers).toEqual([...range(1, keptFirst), ...range(tries - keptLast + 1, tries)]);
  expect(attempts.at(-1)?.notes).toEqual([`note ${tries - 1}`]);
});

test("unfinished tries of a dead process are ended as ambiguous and become due again", () => {
  const path = join(temporaryFolder(), "supervisor.db");
  const before = openStore(path);
  const [id = "", other = ""] = addOrders(before, "a", "b");
  before.claim("one", T0, id);
  const after = openStore(path);
  expect(after.endInterruptedTries(T0 + 50, () => 0)).toEqual([id]);
  expect(after.attempts(id)).toMatchObject([{ number: 1, class: "interrupted", ambiguous: true }]);
  expect(after.delivery(id)).toMatchObject({ state: "pending", ambiguous: true });
  expect(after.attempts(other)).toEqual([]);
  expect(after.claim("due", T0 + 50)).toMatchObject({ orderId: "b", number: 1 });
  // Whether the gateway has it is asked before it is sent again.
  expect(after.claim("lookup", T0 + 50)).toMatchObject({ orderId: "a", number: 1 });
});

test("an unfinished lookup of a dead process is no try and is begun again after a while", () => {
  const store = openStore();
  const [id = ""] = addOrders(store, "a");
  store.claim("one", T0, id);
  store.endInterruptedTries(T0 + 50, () => 0);
  store.claim("lookup", T0 + 60);
  expect(store.delivery(id)?.firstTryEnded).toBe(true);
  expect(store.endInterruptedTries(T0 + 70, () => 0)).toEqual([]);
  expect(store.attempts(id)).toHaveLength(1);
  expect(store.claim("lookup", T0 + 60_069)).toBeUndefined();
  expect(store.claim("lookup", T0 + 60_070)).toMatchObject({ orderId: "a" });
});

test("an item whose process dies each time lets the other items go first", () => {
  const store = openStore();
  const [id = ""] = addOrders(store, "poison", "good");
  const delays: number[] = [];
  for (let i = 0; i < 3; i++) {
    store.claim("one", T0, id);
    store.endInterruptedTries(T0 + 50, (failures) => {
      delays.push(failures);
      return failures * 1_000;
    });
    const lookup = store.claim("lookup", T0 + 60_000);
    if (lookup === undefined) throw new Error("not looked up");
    const update = {
      state: "pending",
      nextTryAtMs: null,
      uncertain: noUncertainSend,
      reason: null,
    } as const;
    store.endLookup(lookup, update, T0 + 60);
  }
  expect(delays).toEqual([1, 2]);
  expect(store.claim("due", T0 + 60)?.orderId).toBe("good");
  expect(store.claim("due", T0 + 60)).toBeUndefined();
  expect(store.claim("due", T0 + 2_050)?.orderId).toBe("poison");
});

test("a payment that the gateway takes at once writes few pages, in two commits", () => {
  const path = join(temporaryFolder(), "supervisor.db");
  const database = openDatabase(path, supervisorMigrations);
  onTestFinished(() => database.close());
  database.exec("PRAGMA synchronous = OFF");
  const store = new OutboxWithTries(database);
  const pay = (payments: number, from: number): void => {
    for (let i = from; i < from + payments; i++) {
      const item = store.add(successive(i), T0 + i, { isClaimed: true });
      if (item) finish(store, item, { state: "sent", redirectUrl: "x" }, { class: "sent" });
    }
  };
  pay(200, 0);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  pay(40, 200);
  const { commits, pages } = countLog(path);
  expect(commits).toBe(80);
  expect(pages / 40).toBeLessThanOrEqual(PAGES_OF_PAYMENT_MAX);
});

test("a queue that never pauses writes few pages an item, into a log that stays small", () => {
  const path = join(temporaryFolder(), "supervisor.db");
  const database = openDatabase(path, supervisorMigrations);
  onTestFinished(() => database.close());
  database.exec("PRAGMA synchronous = OFF"); // the same pages, without waits for the disk
  const store = new OutboxWithTries(database);
  const orders = Array.from({ length: 1_000 }, (_, i) => successive(i));
  transaction(database, () => {
    for (const order of orders) insertItem(database, order, T0);
  });
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  let items: ClaimedItem[] = [];
  const turns = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const ended = items.map((item) =>
        endedTry(item, { state: "sent", redirectUrl: "x" }, { class: "sent", httpStatus: 200 }),
      );
      items = store.endAndClaim(ended, { which: "due", limit: WINDOW_MAX, nowMs: T0 });
      expect(items).toHaveLength(WINDOW_MAX);
    }
  };
  turns(80);
  const { salt, commits, pages } = countLog(path);
  expect(commits).toBe(80);
  expect(pages / commits).toBeLessThan(PAGES_OF_COMMIT_MAX);
  turns(40);
  expect(countLog(path).salt).not.toBe(salt);
  expect(statSync(`${path}-wal`).size).toBeLessThan(LOG_BYTES_MAX);
});
