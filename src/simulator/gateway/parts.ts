import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../shared/time.ts";
import type { Account } from "./account.ts";
import type { FaultList } from "./faults/fault-list.ts";
import type { NotificationStore } from "./notifications/notification-store.ts";
import type { Sender } from "./notifications/sender.ts";
import type { Ledger } from "./orders/ledger.ts";
import type { OrderStore } from "./orders/order-store.ts";

/** The parts of the sandbox, as its routes see them. */
export interface SandboxParts {
  readonly accounts: readonly Account[];
  readonly clock: Clock;
  readonly database: DatabaseSync;
  readonly orders: OrderStore;
  readonly ledger: Ledger;
  readonly notifications: NotificationStore;
  readonly sender: Sender;
  readonly faults: FaultList;
  /** Orders are paid as soon as they are generated. */
  readonly autoPay: boolean;
  /** Refunds name the website, as the table says and real types do not. */
  readonly websiteIdMandatory: boolean;
  /** Aborts when the sandbox closes: every wait ends. */
  readonly closing: AbortSignal;
}
