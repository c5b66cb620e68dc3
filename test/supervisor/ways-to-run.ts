import type { DatabaseSync } from "node:sqlite";
import type { AlarmName } from "../../src/shared/catalog/alarms.ts";
import { type AlarmLog, createLogger, type Logger } from "../../src/shared/process/logger.ts";
import { AlarmStore } from "../../src/supervisor/alarms/alarm-store.ts";
import { NotificationTally } from "../../src/supervisor/notifications/notification-tally.ts";
import { OperationStore } from "../../src/supervisor/operations/operation-store.ts";
import type { ClaimedItem } from "../../src/supervisor/outbox/item-rows.ts";
import { OutboxAdmin } from "../../src/supervisor/outbox/outbox-admin.ts";
import { OutboxStore } from "../../src/supervisor/outbox/outbox-store.ts";
import { retentionChore } from "../../src/supervisor/outbox/retention.ts";
import { noHistory } from "../../src/supervisor/outbox/retry-policy.ts";
import { StoreLosses } from "../../src/supervisor/outbox/store-losses.ts";
import { noUncertainSend } from "../../src/supervisor/outbox/uncertain-send-policy.ts";
import { growthOf, storeMessages } from "../../src/supervisor/stores/supervisor-stores.ts";
import { TestClock } from "../support/clocks/test-clock.ts";
import { withoutPauses } from "./clock-without-pauses.ts";
import { operationIdOf, orderOf, publicIdOf, special, transactionOf } from "./full-supervisor.ts";
import { sampleTransaction } from "./sample-transaction.ts";

const DAY_MS = 24 * 3_600_000;
const LONG_AFTER_MS = 1_000 * DAY_MS;
const PAGE = 5;
/** More than are due where nearly all wait for later. */
const DUE_MAX = 10;
const states = [undefined, "pending", "sent", "parked", "closed"] as const;
const stream = { write: () => {} };
const plain: Logger = createLogger({ program: "supervisor", level: "error", stream });
const log = plain as AlarmLog;

/** Runs each statement of the supervisor on a database that `fullSupervisor(n)` has made. */
export async function runAll(database: DatabaseSync, n: number): Promise<void> {
  const clock = new TestClock(LONG_AFTER_MS);
  readOutbox(database, n);
  readGateway(database, n);
  writeAlarms(database, clock);
  changeOutbox(database, n);
  changeStores(database, n, clock);
  changeGateway(database, n);
  await retentionChore(database, 30, withoutPauses(clock)).run();
}

function readOutbox(database: DatabaseSync, n: number): void {
  const store = new OutboxStore(database);
  const admin = new OutboxAdmin(database);
  for (const state of states) {
    for (const cursor of [0, Math.floor(n / 2)]) admin.list(state, cursor, PAGE);
  }
  admin.uncertain();
  growthOf(database);
  store.counts();
  store.parkedSinceMs();
  store.oldestQueuedAtMs();
  store.nextDueAtMs("send");
  store.nextDueAtMs("lookup");
  const { due, doubled } = special(n);
  for (const i of [1, due, doubled]) {
    store.content(transactionOf(i));
    store.delivery(transactionOf(i));
    store.othersOfOrder(sampleTransaction({ orderId: orderOf(i) }));
  }
}

/** What answers messages about stores, without a gateway. */
function storesOf(database: DatabaseSync, clock: TestClock) {
  const losses = new StoreLosses(database, clock, log);
  const store = new OutboxStore(database);
  const none = () => Promise.reject(new Error("there is no gateway"));
  const gateway = { generate: none, findOrder: none, close: () => undefined };
  const { signal } = new AbortController();
  const parts = { database, store, losses, clock, log, gateway, signal };
  return { losses, store, messages: storeMessages(parts) };
}

function readGateway(database: DatabaseSync, n: number): void {
  const operations = new OperationStore(database);
  const { notifications } = operations;
  const list = storesOf(database, new TestClock()).messages["known-orders"];
  const { doubled } = special(n);
  for (const i of [1, n, doubled]) {
    list({ orderId: orderOf(i), after: 0, limit: PAGE });
    operations.transactionsOf(orderOf(i));
    operations.transaction(transactionOf(i));
    operations.ownerOf(publicIdOf(i));
    operations.publicIdsOf(orderOf(i));
    operations.sendingOf(orderOf(i));
    operations.copiesOf(transactionOf(i));
    operations.copiesPossible(transactionOf(i));
    operations.possibleOrders(transactionOf(i));
    operations.operation(operationIdOf(i));
    operations.openOf(publicIdOf(i));
    operations.operationsOf([publicIdOf(i)]);
    operations.isForbidden(operationIdOf(i));
    notifications.acceptedOf([{ transactionId: transactionOf(i) }]);
  }
  list({ after: 0, limit: PAGE });
  list({ after: n / 2, limit: PAGE });
  operations.unknown();
  operations.unknownOnes();
  operations.open(PAGE);
  notifications.newest();
  for (const after of [0, n / 2, n]) notifications.returnsAfter(after, PAGE);
}

function writeAlarms(database: DatabaseSync, clock: TestClock): void {
  const alarms = new AlarmStore(database, clock);
  const raise = (alarm: AlarmName) => alarms.tap(log).error({ alarm }, "told");
  for (const alarm of ["queue-old", "queue-old", "transaction-changed"] as const) raise(alarm);
  alarms.noteRequest("a check", "1");
  alarms.after(undefined, 0, PAGE);
  alarms.keepLasting([]);
  const tally = new NotificationTally(database, clock);
  tally.count("mismatch", "test");
  tally.save();
  tally.count("accepted", "");
  tally.save();
  database.prepare("DELETE FROM refused_notifications").run();
}

function changeStores(database: DatabaseSync, n: number, clock: TestClock): void {
  const { losses, store, messages } = storesOf(database, clock);
  const { parked, dropped } = special(n);
  const known = (i: number) =>
    sampleTransaction({ transactionId: transactionOf(i), orderId: orderOf(i) });
  for (const i of [1, dropped]) {
    for (const state of ["sent", "closed"] as const) {
      const item = { transaction: known(i), state, reversed: state === "closed" };
      messages["take-over"]({ items: [item], last: true });
    }
  }
  const parkedItem = {
    transaction: sampleTransaction(),
    state: "parked",
    reversed: false,
  } as const;
  messages["take-over"]({ items: [parkedItem], last: false });
  losses.note("test");
  database.exec("DELETE FROM sqlite_sequence WHERE name = 'alarms'"); // as if none was ever raised
  storesOf(database, clock).losses.note("test"); // as after a start: a process skips ids once
  losses.mayHaveHad({ origin: "payment" });
  losses.mayLack(transactionOf(1));
  store.withdraw(known(parked), n);
  store.restore(known(parked), n, true);
}

function changeOutbox(database: DatabaseSync, n: number): void {
  const store = new OutboxStore(database);
  const admin = new OutboxAdmin(database);
  const { due, dropped } = special(n);
  store.endInterruptedTries(n, () => 1);
  store.add(sampleTransaction(), n);
  store.add(sampleTransaction(), n, { mayBeSent: true });
  const claimed = store.add(sampleTransaction(), n, { isClaimed: true });
  if (claimed) end(store, claimed, 10 + 40 + 1); // one more than are kept;
  const later = 10 * n;
  for (const claim of [store.claim("due", later), store.claim("oldest", later)]) {
    if (claim) end(store, claim, claim.number + 10);
  }
  const toLookUp = store.claim("lookup", later);
  if (toLookUp) {
    const keeps = { state: "pending" as const, nextTryAtMs: 2 * later, reason: null };
    store.endLookup(toLookUp, { ...keeps, uncertain: noUncertainSend }, later);
  }
  // Where all others wait for later, nothing is left that is due.
  for (let i = 0; i < DUE_MAX; i++) {
    store.claim("due", later);
    store.claim("lookup", later);
  }
  store.endAndClaim([], { which: "due", limit: 1, nowMs: later });
  store.claim("one", later, transactionOf(due));
  admin.requeue(transactionOf(dropped), later);
  admin.drop(transactionOf(dropped), "test", later);
  admin.drop(transactionOf(1), "test", later);
}

function end(store: OutboxStore, item: ClaimedItem, number: number): void {
  const answer = { httpStatus: null, code: null, description: "", notes: [] };
  const how = { class: "interrupted", ambiguous: true } as const;
  const ended = {
    item,
    attempt: { ...answer, ...how, number, startedAtMs: 0, endedAtMs: 0 },
    update: {
      state: "pending" as const,
      nextTryAtMs: 0,
      redirectUrl: null,
      reason: null,
      history: noHistory,
      uncertain: noUncertainSend,
    },
  };
  store.endAndClaim([ended], { which: "due", limit: 0, nowMs: 0 });
}

function changeGateway(database: DatabaseSync, n: number): void {
  const operations = new OperationStore(database);
  const { notifications } = operations;
  const { due } = special(n);
  operations.endInterrupted(n);
  operations.settle(operationIdOf(n), "done", "operator", "looked");
  const refund = {
    kind: "refund" as const,
    transactionPublicId: publicIdOf(1),
    amountMinor: 1,
    currency: "EUR",
    exponent: 2,
  };
  operations.begin({ operationId: "new", ...refund }, n);
  const lost = { operationId: "lost", ...refund, transactionPublicId: publicIdOf(2) };
  operations.addLost(lost, n, n);
  operations.ofKey("key");
  operations.refundsOf(publicIdOf(1), 1);
  const verdict = { class: "sent", httpStatus: 200, code: null, description: "" } as const;
  operations.finish("new", "done", verdict as Parameters<typeof operations.finish>[2], n);
  operations.forbid("late", n);
  operations.settleCopies(transactionOf(due), "", n);
  operations.learnId("new", transactionOf(due), "lookup", n);
  notifications.add(
    {
      fingerprint: "new",
      kind: "operation",
      verdict: "accepted",
      status: "ok",
      transactionId: transactionOf(due),
      transactionPublicId: "new",
      operation: "capture",
      amountMinor: null,
      parsed: {},
      raw: "",
    },
    n,
  );
  const [accepted] = notifications.acceptedOf([{ transactionId: transactionOf(due) }]);
  const asked = operations.operation("new");
  if (accepted && asked) operations.isBefore(accepted, asked);
}
