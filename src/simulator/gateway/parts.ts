import { DatabaseSync } from "node:sqlite";
import { openDatabase, sqlOf } from "../../shared/store/sqlite.ts";
import { type Clock, systemClock } from "../../shared/time.ts";
import { type AccountInput, accountSchema } from "./account.ts";
import { type FaultInput, FaultList, faultSchema } from "./faults.ts";
import type { Tls } from "./http/app.ts";
import type { MailTarget } from "./notifications/mail.ts";
import { NotificationStore } from "./notifications/notification-store.ts";
import { Sender } from "./notifications/sender.ts";
import { Ledger } from "./orders/ledger.ts";
import { OrderStore } from "./orders/order-store.ts";
import { migrations } from "./rows.ts";

export interface SandboxOptions {
  readonly accounts: readonly AccountInput[];
  /** The path of the database file, or ":memory:" for a database that is lost at the end. */
  readonly database: string;
  readonly host?: string;
  /** The port to listen on; 0, the default, lets the system choose. */
  readonly port?: number;
  readonly tls?: Tls;
  readonly faults?: readonly FaultInput[];
  /** Whether orders are paid at once when they are generated; off by default. */
  readonly autoPay?: boolean;
  /** Whether payments wait until an operator pays or declines them; off by default. */
  readonly paymentsWait?: boolean;
  /** Whether refunds without a websiteId are refused; off by default. */
  readonly websiteIdMandatory?: boolean;
  /** The receiver of mails to emailCallback; missing: a file in the folder of the database. */
  readonly mail?: MailTarget;
  readonly clock?: Clock;
  /** Called with unexpected errors of the sandbox itself; missing: they go to standard error. */
  readonly report?: (error: Error) => void;
}

export type SandboxParts = ReturnType<typeof assemble>;

/** Makes the parts that the routes share. `closing` aborts when the sandbox closes. */
export function assemble(
  { accounts: given, clock = systemClock, autoPay = false, ...options }: SandboxOptions,
  closing: AbortSignal,
  report: (error: Error) => void,
) {
  const { paymentsWait = false, websiteIdMandatory = false } = options;
  const nextTo = options.database === ":memory:" ? undefined : { file: `${options.database}.mbox` };
  const mail = options.mail ?? nextTo;
  const accounts = given.map((account) => accountSchema.parse(account));
  const faults = new FaultList(options.faults?.map((fault) => faultSchema.parse(fault)));
  const database = open(options.database);
  const orders = new OrderStore(database, clock);
  const notifications = new NotificationStore(database, clock);
  const mails = mail !== undefined;
  const ledgerParts = { accounts, orders, notifications, faults, mails, paymentsWait, clock };
  return {
    accounts,
    clock,
    database,
    orders,
    ledger: new Ledger(ledgerParts),
    notifications,
    sender: new Sender({ notifications, clock, mail, closing, report }),
    faults,
    autoPay,
    websiteIdMandatory,
    closing,
  };
}

function open(path: string): DatabaseSync {
  if (path !== ":memory:") return openDatabase(path, migrations);
  const database = new DatabaseSync(path);
  for (const migration of migrations) database.exec(sqlOf(migration));
  return database;
}
