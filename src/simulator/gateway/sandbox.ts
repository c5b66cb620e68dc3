import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../shared/sqlite.ts";
import { type Clock, systemClock } from "../../shared/time.ts";
import { type AccountInput, accountSchema } from "./account.ts";
import { categoryRoutes } from "./control/category-routes.ts";
import { controlRoutes } from "./control/control-routes.ts";
import { type FaultInput, faultSchema } from "./faults/fault.ts";
import { FaultList } from "./faults/fault-list.ts";
import { createApp, type Tls } from "./http/app.ts";
import { OrderStore } from "./orders/order-store.ts";
import { type OrderView, orderView } from "./orders/order-view.ts";
import { migrations } from "./orders/schema.ts";
import type { SandboxParts } from "./parts.ts";
import { soapRoutes } from "./soap/soap-routes.ts";

export interface SandboxOptions {
  readonly accounts: readonly AccountInput[];
  /** Path of the database file, or ":memory:" for one that ends with the sandbox. */
  readonly database: string;
  readonly host?: string;
  /** 0, the default, lets the system choose. */
  readonly port?: number;
  readonly tls?: Tls;
  readonly faults?: readonly FaultInput[];
  readonly clock?: Clock;
  /** Hears of faults of the sandbox itself; without it they go to standard error. */
  readonly report?: (error: Error) => void;
}

export interface GatewaySandbox {
  /** `http://host:port`, no slash at the end. */
  readonly url: string;
  readonly port: number;
  addFault(fault: FaultInput): void;
  clearFaults(): void;
  /** Newest first, as `GET /sandbox/orders` shows them. */
  orders(): OrderView[];
  close(): Promise<void>;
}

const ORDERS_LISTED_MAX = 50_000;

/** Starts a stand-in for the payment gateway and resolves when it listens. */
export async function startGatewaySandbox(options: SandboxOptions): Promise<GatewaySandbox> {
  const { host = "127.0.0.1", port = 0, clock = systemClock } = options;
  const accounts = options.accounts.map((account) => accountSchema.parse(account));
  const faults = new FaultList(options.faults?.map((fault) => faultSchema.parse(fault)));
  const database = open(options.database);
  const closing = new AbortController();
  const parts: SandboxParts = {
    accounts,
    clock,
    database,
    orders: new OrderStore(database, clock),
    faults,
    closing: closing.signal,
  };
  const report = options.report ?? ((error) => console.error(error));
  const app = createApp(options.tls, report);
  soapRoutes(app, parts);
  controlRoutes(app, parts);
  categoryRoutes(app, parts);
  const close = async (): Promise<void> => {
    closing.abort(new Error("the sandbox is closing"));
    await app.close();
    if (database.isOpen) database.close();
  };
  try {
    await app.listen({ host, port });
  } catch (error) {
    await close();
    throw error;
  }
  const bound = (app.server.address() as AddressInfo).port;
  return {
    url: `${options.tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    port: bound,
    addFault: (fault) => faults.add(faultSchema.parse(fault)),
    clearFaults: () => faults.clear(),
    orders: () => parts.orders.list(ORDERS_LISTED_MAX).map(orderView),
    close,
  };
}

function open(path: string): DatabaseSync {
  if (path !== ":memory:") return openDatabase(path, migrations);
  const database = new DatabaseSync(path);
  for (const migration of migrations) database.exec(migration);
  return database;
}
