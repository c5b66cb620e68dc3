import { randomUUID } from "node:crypto";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type {
  DeliveryState,
  Handlers,
  KnownOrder,
  ResyncItem,
  SupervisorAnswer,
  supervisorMessages,
} from "../../shared/ipc/contract.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { prepared, transaction } from "../../shared/store/sqlite.ts";
import { Store } from "../../shared/store/store.ts";
import { StoreExchange } from "../../shared/store/store-exchange.ts";
import type { Clock } from "../../shared/time.ts";
import { noDetails, readStored, type Transaction } from "../../shared/transaction.ts";
import type { Gateway } from "../gateway/gateway-client.ts";
import { returnedOfOrder } from "../operations/gateway-history.ts";
import { OperationStore } from "../operations/operation-store.ts";
import { insertItem, reversedIsClosed, settleItem } from "../outbox/item-rows.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import { StoreLosses } from "../outbox/store-losses.ts";

/** Returns the number of changes to supervisor.db so far. */
export function growthOf(database: DatabaseSync): number {
  const sql = "SELECT items AS count FROM outbox_counts WHERE state = 'steps'";
  return Number(prepared(database, sql).get()?.["count"] ?? 0);
}

/**
 * Begins the session of supervisor.db (docs/rules/17-loss.md) before anything is sent, because a
 * restored database must not send its old items again.
 */
export function openStores(database: DatabaseSync, path: string, clock: Clock, log: AlarmLog) {
  const store = new Store(database, path, () => growthOf(database));
  const losses = new StoreLosses(database, clock, log);
  store.begin((finding) => {
    if (finding.kind !== "whole") losses.note(finding.because);
  });
  const because = "tp-manager remembers more of it than it holds";
  const exchange = new StoreExchange(store, () => losses.note(because));
  return { store, losses, exchange };
}

interface MessageParts {
  readonly database: DatabaseSync;
  readonly store: OutboxStore;
  readonly losses: StoreLosses;
  readonly gateway: Gateway;
  /** Ends the lookups at the gateway when the program stops. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: AlarmLog;
}

/** Returns the query for items of the outbox; CROSS JOIN makes SQLite read the left table first. */
const itemsFrom = (tables: string, which: string): string => `
  SELECT sequence, state, reversed, content FROM ${tables} USING (transaction_id)
  WHERE ${which} AND sequence > :after ORDER BY sequence LIMIT :limit`;
const everyOrder = itemsFrom("outbox CROSS JOIN transactions", "true");
const oneOrder = itemsFrom("transactions CROSS JOIN outbox", "order_id = :order");

/** Returns the handlers of messages about lost and restored databases (docs/rules/17-loss.md). */
export function storeMessages(
  parts: MessageParts,
): Pick<Handlers<typeof supervisorMessages>, "known-orders" | "take-over" | "order-at-gateway"> {
  const { database, losses, gateway, signal, log } = parts;
  const operations = new OperationStore(database);
  return {
    "known-orders": ({ orderId, after, limit }) => {
      const rows =
        orderId === undefined
          ? database.prepare(everyOrder).all({ after, limit: limit + 1 })
          : database.prepare(oneOrder).all({ after, order: orderId, limit: limit + 1 });
      const page = rows.slice(0, limit);
      return {
        orders: page.flatMap((row) => knownOrder(row, operations)),
        last: Number(page.at(-1)?.["sequence"] ?? after),
        more: rows.length > limit,
        whole: losses.isWhole,
      };
    },
    "take-over": ({ items, last }) => {
      const added = transaction(database, () => items.filter((item) => storeAgain(item, parts)));
      if (last) losses.end();
      const about = { items: items.length, added: added.length, last };
      log.info(about, "resync: tp-manager handed off transactions once more");
      return { added: added.length };
    },
    "order-at-gateway": ({ orderId }) => orderAtGateway(orderId, gateway, signal),
  };
}

/** Returns the order in a row; empty: the row is damaged, and the next try to send it parks it. */
function knownOrder(row: Record<string, SQLOutputValue>, operations: OperationStore): KnownOrder[] {
  const stored = readStored(row["content"]);
  if (!stored) return [];
  const { transactionId } = stored;
  const ids = operations.copiesOf(transactionId);
  const [open] = ids.flatMap((id) => operations.openOf(id) ?? []);
  return [
    {
      // The journal needs no cart, and a page of orders must not exceed the size of a message.
      transaction: { ...stored, cart: [] },
      state: row["state"] as DeliveryState,
      reversed: row["reversed"] === 1,
      returnedMinor: returnedOfOrder(transactionId, operations),
      openReturn: open && open.kind !== "confirm" ? open : null,
    },
  ];
}

/** Looks up an order by its id alone, with an invented transaction: any order of this id counts. */
async function orderAtGateway(
  orderId: string,
  gateway: Gateway,
  signal: AbortSignal,
): Promise<SupervisorAnswer<"order-at-gateway">> {
  const unlike: Transaction = {
    transactionId: randomUUID(),
    orderId,
    origin: "recovery",
    amountMinor: 1,
    currency: "EUR",
    exponent: 2,
    approvedAtMs: 0,
    ...noDetails,
  };
  const finding = await gateway.findOrder(unlike, signal);
  switch (finding.kind) {
    case "absent":
      return { found: "absent", why: "the gateway does not have the order" };
    case "ours":
    case "other":
      return { found: "present", why: "the gateway has an order of this number" };
    case "unanswered":
      return { found: "untold", why: `the gateway gave no answer: ${finding.verdict.description}` };
  }
}

/** The reasons that are stored when the journal knows that a waiting item must not be sent. */
const reasons = {
  sent: "handed off again by the journal, which knows that the gateway has it",
  closed: "handed off again by the journal, where it is closed",
  parked: "handed off again by the journal",
};

/**
 * Stores one transaction of the journal and returns whether it was missing here. A transaction that
 * the journal knows as sent, closed or reversed is never queued again; another pending one is
 * looked up first, because a lost database may have sent it. Throws while a try of it runs.
 */
function storeAgain(
  { transaction: given, state, reversed, wasWithdrawn }: ResyncItem,
  { database, store, clock }: MessageParts,
): boolean {
  const id = given.transactionId;
  const now = clock.now();
  const missing = store.content(id) === undefined;
  const isOver = state === "sent" || state === "closed";
  if (missing) insertItem(database, given, now, { mayBeSent: true });
  else if (wasWithdrawn) store.restore(given, now, true);
  if (isOver || (state === "parked" && missing)) {
    const dropped = state === "closed" && !reversed;
    settleItem(database, id, now, { state, reason: reasons[state], dropped });
  }
  if (reversed) {
    const sql = "UPDATE outbox SET reversed = 1 WHERE transaction_id = ? AND reversed = 0";
    prepared(database, sql).run(id);
    prepared(database, reversedIsClosed).run({ id, now });
  }
  if (isOver && store.delivery(id)?.state === "pending") {
    throw new Error(`${id} is being sent to the gateway; ask again later`);
  }
  return missing;
}
