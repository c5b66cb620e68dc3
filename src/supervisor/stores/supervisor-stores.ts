import type { DatabaseSync } from "node:sqlite";
import type { Handlers, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { prepared } from "../../shared/store/sqlite.ts";
import { Store } from "../../shared/store/store.ts";
import { StoreExchange } from "../../shared/store/store-exchange.ts";
import type { Clock } from "../../shared/time.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { NotificationStore } from "../notifications/notification-store.ts";
import { OperationStore } from "../operations/operation-store.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import { KnownOrders, orderAtGateway } from "./known-orders.ts";
import { StoreLosses } from "./store-losses.ts";
import { TakeOver } from "./take-over.ts";

const countSql = "SELECT items AS count FROM outbox_counts WHERE state = 'steps'";

/** How often supervisor.db grew. */
export function growthOf(database: DatabaseSync): number {
  return Number(prepared(database, countSql).get()?.["count"] ?? 0);
}

interface SupervisorStores {
  readonly store: Store;
  readonly losses: StoreLosses;
  readonly exchange: StoreExchange;
}

/**
 * The knowledge of supervisor.db about itself and the journal (docs/rules/17-loss.md). Its session
 * begins before anything is sent: a database that was put back must not send its old items again.
 */
export function openStores(
  database: DatabaseSync,
  path: string,
  clock: Clock,
  log: Logger,
): SupervisorStores {
  const store = new Store(database, path, () => growthOf(database));
  const losses = new StoreLosses(database, clock, log);
  losses.begin(store);
  const because = "tp-manager remembers more of it than it holds";
  const exchange = new StoreExchange({ store, onMissing: () => losses.note(because) });
  return { store, losses, exchange };
}

interface MessageParts {
  readonly database: DatabaseSync;
  readonly store: OutboxStore;
  readonly losses: StoreLosses;
  readonly gateway: Pick<Gateway, "findOrder">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onStored: (transactionId: string) => void;
}

export type StoreMessages = Pick<
  Handlers<typeof supervisorMessages>,
  "known-orders" | "take-over" | "order-at-gateway"
>;

/** The answers about lost and restored databases. */
export function storeMessages(parts: MessageParts): StoreMessages {
  const { database, losses, gateway } = parts;
  const operations = new OperationStore(database);
  const history = { operations, notifications: new NotificationStore(database) };
  const known = new KnownOrders({ database, history, losses });
  const takeOver = new TakeOver(parts);
  return {
    "known-orders": (request) => known.list(request),
    "take-over": (request) => takeOver.take(request),
    "order-at-gateway": ({ orderId }) => orderAtGateway(orderId, gateway),
  };
}
