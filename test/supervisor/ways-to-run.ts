import type { DatabaseSync } from "node:sqlite";
import { createLogger } from "../../src/shared/process/logger.ts";
import { AlarmStore } from "../../src/supervisor/alarms/alarm-store.ts";
import { NotificationStore } from "../../src/supervisor/notifications/notification-store.ts";
import { NotificationTally } from "../../src/supervisor/notifications/notification-tally.ts";
import { OperationStore } from "../../src/supervisor/operations/operation-store.ts";
import { noDoubt } from "../../src/supervisor/outbox/doubt-policy.ts";
import { OutboxAdmin } from "../../src/supervisor/outbox/outbox-admin.ts";
import {
  ATTEMPTS_KEPT_FIRST,
  ATTEMPTS_KEPT_LAST,
  type ClaimedItem,
  OutboxStore,
} from "../../src/supervisor/outbox/outbox-store.ts";
import { retentionChore } from "../../src/supervisor/outbox/retention.ts";
import { noHistory } from "../../src/supervisor/outbox/retry-policy.ts";
import { StoreLosses } from "../../src/supervisor/outbox/store-losses.ts";
import { growthOf, knownOrders, takeOver } from "../../src/supervisor/stores/supervisor-stores.ts";
import { TestClock } from "../support/test-clock.ts";
import { withoutPauses } from "./clock-without-pauses.ts";
import { operationIdOf, orderOf, publicIdOf, special, transactionOf } from "./full-supervisor.ts";
import { sampleTransaction } from "./sample-transaction.ts";

const DAY_MS = 24 * 3_600_000;
const LONG_AFTER_MS = 1_000 * DAY_MS;
const PAGE = 5;
/** More than are due where nearly all wait for later. */
const DUE_MAX = 10;
const states = [undefined, "pending", "sent", "parked", "closed"] as const;
const log = createLogger({ program: "supervisor", level: "error", stream: { write: () => {} } });

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
  admin.doubts();
  growthOf(database);
  store.counts();
  store.parkedSinceMs();
  store.oldestQueuedAtMs();
  store.nextDueAtMs("send");
  store.nextDueAtMs("look");
  const { due, doubled } = special(n);
  for (const i of [1, due, doubled]) {
    store.content(transactionOf(i));
    store.delivery(transactionOf(i));
    store.attempts(transactionOf(i));
    store.othersOfOrder(sampleTransaction({ orderId: orderOf(i) }));
  }
}

function readGateway(database: DatabaseSync, n: number): void {
  const operations = new OperationStore(database);
  const notifications = new NotificationStore(database);
  const history = { operations, notifications };
  const losses = new StoreLosses(database, new TestClock(), log);
  const list = (request: Parameters<typeof knownOrders>[0]) =>
    knownOrders(request, database, history, losses);
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
    notifications.acceptedOf([transactionOf(i)]);
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
  const raise = (alarm: string) => alarms.tap(log).error({ alarm }, "told");
  for (const alarm of ["queue-old", "queue-old", "transaction-changed"]) raise(alarm);
  alarms.noteRequest("a look", "1");
  alarms.behind(undefined, 0, PAGE);
  alarms.keepLasting([]);
  const tally = new NotificationTally(database, clock);
  tally.count("mismatch", "test");
  tally.save();
  tally.count("accepted", "");
  tally.save();
  database.prepare("DELETE FROM refused_notifications").run();
}

function changeStores(database: DatabaseSync, n: number, clock: TestClock): void {
  const losses = new StoreLosses(database, clock, log);
  const store = new OutboxStore(database);
  const parts = { database, store, losses, clock, log, onStored: () => {} };
  const { parked, dropped } = special(n);
  const known = (i: number) =>
    sampleTransaction({ transactionId: transactionOf(i), orderId: orderOf(i) });
  for (const i of [1, dropped]) {
    for (const state of ["sent", "closed"] as const) {
      const item = { transaction: known(i), state, reversed: state === "closed" };
      takeOver({ items: [item], last: true }, parts);
    }
  }
  const parkedItem = {
    transaction: sampleTransaction(),
    state: "parked",
    reversed: false,
  } as const;
  takeOver({ items: [parkedItem], last: false }, parts);
  losses.note("test");
  losses.mayHaveHad({ origin: "payment" });
  losses.mayLack(transactionOf(1));
  store.withdraw(known(parked), n);
}

function changeOutbox(database: DatabaseSync, n: number): void {
  const store = new OutboxStore(database);
  const admin = new OutboxAdmin(database);
  const { due, dropped } = special(n);
  store.endInterruptedTries(n, () => 1);
  store.add(sampleTransaction(), n);
  store.add(sampleTransaction(), n, { isDoubtful: true });
  const taken = store.add(sampleTransaction(), n, { isTaken: true });
  if (taken) end(store, taken, ATTEMPTS_KEPT_FIRST + ATTEMPTS_KEPT_LAST + 1);
  const later = 10 * n;
  for (const claim of [store.claimNext(later), store.claimOldest(later)]) {
    if (claim) end(store, claim, claim.number + 10);
  }
  const looked = store.claimToLook(later);
  if (looked) {
    const keeps = { state: "pending" as const, nextTryAtMs: 2 * later, reason: null };
    store.finishLook(looked, { ...keeps, doubt: noDoubt, endedAtMs: later });
  }
  // Where all others wait for later, nothing is left that is due.
  for (let i = 0; i < DUE_MAX; i++) {
    store.claimNext(later);
    store.claimToLook(later);
  }
  store.claim(transactionOf(due), later);
  admin.requeue(transactionOf(dropped), later);
  admin.drop(transactionOf(dropped), "test", later);
  admin.drop(transactionOf(1), "test", later);
}

function end(store: OutboxStore, item: ClaimedItem, number: number): void {
  const told = { httpStatus: null, code: null, description: "", notes: [] };
  store.finish(
    item,
    { ...told, number, startedAtMs: 0, endedAtMs: 0, class: "interrupted", ambiguous: true },
    {
      state: "pending",
      nextTryAtMs: 0,
      redirectUrl: null,
      reason: null,
      history: noHistory,
      doubt: noDoubt,
    },
  );
}

function changeGateway(database: DatabaseSync, n: number): void {
  const operations = new OperationStore(database);
  const notifications = new NotificationStore(database);
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
  const [told] = notifications.acceptedOf([transactionOf(due)]);
  const asked = operations.operation("new");
  if (told && asked) operations.isBefore(told, asked);
}
