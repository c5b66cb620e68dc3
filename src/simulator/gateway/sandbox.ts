import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { openDatabase, sqlOf } from "../../shared/store/sqlite.ts";
import { type Clock, systemClock } from "../../shared/time.ts";
import { type AccountInput, accountSchema } from "./account.ts";
import { controlRoutes } from "./control/control-routes.ts";
import { type Fault, type FaultInput, faultSchema } from "./faults/fault.ts";
import { FaultList } from "./faults/fault-list.ts";
import { createApp, type Tls } from "./http/app.ts";
import { categoryRoutes, lookupRoutes } from "./lookup/lookup-routes.ts";
import type { MailTarget } from "./mail/mail-target.ts";
import { NotificationStore } from "./notifications/notification-store.ts";
import { Notifier } from "./notifications/notifier.ts";
import { Sender } from "./notifications/sender.ts";
import { Ledger } from "./orders/ledger.ts";
import { OrderStore } from "./orders/order-store.ts";
import { type OrderView, orderView } from "./orders/order-view.ts";
import { migrations } from "./orders/schema.ts";
import { pageRoutes } from "./pages/page-routes.ts";
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
  /** Pays orders as soon as they are generated; off by default. */
  readonly autoPay?: boolean;
  /** Payments wait until an operator pays or declines them; off by default. */
  readonly paymentsWait?: boolean;
  /** Refunds without a websiteId are refused; off by default. */
  readonly websiteIdMandatory?: boolean;
  /** Where mails to emailCallback go; a file beside the database when left out. */
  readonly mail?: MailTarget;
  readonly clock?: Clock;
  /** Hears of faults of the sandbox itself; without it they go to standard error. */
  readonly report?: (error: Error) => void;
}

export interface GatewaySandbox {
  /** `http://host:port`, no slash at the end. */
  readonly url: string;
  readonly port: number;
  addFault(fault: FaultInput): void;
  /** Those that are still in force. */
  faults(): readonly Fault[];
  clearFaults(): void;
  /** Newest first, as `GET /sandbox/orders` shows them. */
  orders(): OrderView[];
  close(): Promise<void>;
}

const ORDERS_LISTED_MAX = 50_000;

/** Starts a stand-in for the payment gateway and resolves when it listens. */
export async function startGatewaySandbox(options: SandboxOptions): Promise<GatewaySandbox> {
  const { host = "127.0.0.1", port = 0, tls } = options;
  const closing = new AbortController();
  const toReport = options.report ?? ((error: Error) => console.error(error));
  // Waits that end because the sandbox ends are no fault of it.
  const report = (error: Error): void => {
    if (!closing.signal.aborted) toReport(error);
  };
  const parts = assemble(options, closing.signal, report);
  const app = createApp(tls, report);
  for (const routes of allRoutes) routes(app, parts);
  app.addHook("onSend", (request, { raw }, _payload, done) => {
    if (request.method === "POST") afterAnswer(raw, () => parts.sender.kick());
    done();
  });
  const close = async (): Promise<void> => {
    closing.abort(new Error("the sandbox is closing"));
    await app.close();
    await parts.sender.stopped();
    if (parts.database.isOpen) parts.database.close();
  };
  try {
    await app.listen({ host, port });
  } catch (error) {
    await close();
    throw error;
  }
  parts.sender.kick();
  const bound = (app.server.address() as AddressInfo).port;
  return {
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${bound}`,
    port: bound,
    addFault: (fault) => parts.faults.add(faultSchema.parse(fault)),
    faults: () => parts.faults.all,
    clearFaults: () => parts.faults.clear(),
    orders: () => parts.orders.list(ORDERS_LISTED_MAX).map(orderView),
    close,
  };
}

/**
 * Notifications leave after the answer to the request that caused them. A client that has hung up
 * gets no answer, and its connection has ended before there was one to write.
 */
function afterAnswer(answer: ServerResponse, work: () => void): void {
  if (answer.closed) work();
  else answer.once("close", work);
}

const allRoutes = [soapRoutes, lookupRoutes, pageRoutes, categoryRoutes, controlRoutes] as const;

function assemble(
  { accounts: given, clock = systemClock, autoPay = false, ...options }: SandboxOptions,
  closing: AbortSignal,
  report: (error: Error) => void,
): SandboxParts {
  const { paymentsWait = false, websiteIdMandatory = false } = options;
  const mail = options.mail ?? mailBeside(options.database);
  const accounts = given.map((account) => accountSchema.parse(account));
  const faults = new FaultList(options.faults?.map((fault) => faultSchema.parse(fault)));
  const database = open(options.database);
  const orders = new OrderStore(database, clock);
  const notifications = new NotificationStore(database, clock);
  const notifier = new Notifier({
    accounts,
    notifications,
    faults,
    clock,
    mails: mail !== undefined,
  });
  return {
    accounts,
    clock,
    database,
    orders,
    ledger: new Ledger({ orders, notifier, faults, paymentsWait }),
    notifications,
    sender: new Sender({ notifications, clock, mail, closing, report }),
    faults,
    autoPay,
    websiteIdMandatory,
    closing,
  };
}

/** A database that ends with the sandbox leaves no mails behind either. */
function mailBeside(database: string): MailTarget | undefined {
  return database === ":memory:" ? undefined : { file: `${database}.mbox` };
}

function open(path: string): DatabaseSync {
  if (path !== ":memory:") return openDatabase(path, migrations);
  const database = new DatabaseSync(path);
  for (const migration of migrations) database.exec(sqlOf(migration));
  return database;
}
