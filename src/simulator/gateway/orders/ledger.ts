import { createHash } from "node:crypto";
import { type Clock, isoTime } from "../../../shared/time.ts";
import { type Account, websiteOf } from "../account.ts";
import type { Fault, FaultList } from "../faults.ts";
import { transactionView } from "../lookup/transaction-view.ts";
import { mailAddresses, mailText } from "../notifications/mail.ts";
import { mapiDocument, resultFields } from "../notifications/mapi-document.ts";
import type { NewNotification, NotificationStore } from "../notifications/notification-store.ts";
import { textOf } from "../soap/parameters.ts";
import {
  type Demand,
  DemandRefused,
  decide,
  failed,
  type Order,
  type OrderOperation,
  type Payment,
} from "./order.ts";
import type { OrderStore } from "./order-store.ts";

interface LedgerParts {
  readonly accounts: readonly Account[];
  readonly orders: OrderStore;
  readonly notifications: NotificationStore;
  readonly faults: FaultList;
  /** Whether mails have anywhere to go. */
  readonly mails: boolean;
  readonly clock: Clock;
  /** Payments wait until an operator pays or declines them. */
  readonly paymentsWait: boolean;
}

type Due = Omit<NewNotification, "orderId" | "signature" | "dueMs"> & {
  readonly signature?: string | undefined;
};

/**
 * Carries demands out: order, history and notifications change together, inside the transaction of
 * the caller.
 */
export class Ledger {
  readonly #orders: OrderStore;
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#orders = parts.orders;
    this.#parts = parts;
  }

  /** Pays the order with a good card, or lets it wait for an operator. */
  accept(order: Order, payment: Payment): Order {
    if (!this.#parts.paymentsWait) return this.pay(order, payment);
    this.#orders.paidWith(order.id, payment);
    return this.#carryOut(order, [{ kind: "wait" }]);
  }

  /** Authorizes, and captures unless manualCapture forbids it (docs/design.md 12.10). */
  pay(order: Order, payment: Payment): Order {
    this.#orders.paidWith(order.id, payment);
    const demands: Demand[] = [{ kind: "authorize" }];
    if (!order.manualCapture) demands.push({ kind: "capture" });
    return this.#carryOut(order, demands);
  }

  decline(order: Order, payment: Payment): Order {
    this.#orders.paidWith(order.id, payment);
    return this.#carryOut(order, [{ kind: "decline" }]);
  }

  demand(order: Order, demand: Demand): Order {
    return this.#carryOut(order, [demand]);
  }

  /** Marks the capture as reported fraudulent, and notifies that. */
  reportFraud(order: Order): Order {
    if (!this.#orders.markFraud(order.id)) {
      throw new DemandRefused(order, "it has no capture to report");
    }
    const changed = this.#read(order.id);
    this.#notifyFraud(changed, this.#orders.operations(order.id));
    return changed;
  }

  #carryOut(order: Order, demands: readonly Demand[]): Order {
    const known = this.#orders.operations(order.id).length;
    let current = order;
    for (const demand of demands) {
      const decided = decide(current, demand);
      const fails = this.#parts.faults.takeForOperation(decided.type);
      const step = fails ? failed(current, decided) : decided;
      this.#orders.change(order.id, step.next);
      this.#orders.addOperation(order.id, step);
      current = this.#read(order.id);
    }
    this.#notify(current, this.#orders.operations(order.id).slice(known));
    return current;
  }

  #read(id: number): Order {
    const order = this.#orders.byId(id);
    if (!order) throw new Error(`order ${id} is gone`);
    return order;
  }

  /** Notifies each operation, in their order unless a fault changes that. */
  #notify(order: Order, operations: readonly OrderOperation[]): void {
    const url = textOf(order.fields, "urlCallback");
    const { accounts, faults, clock, mails } = this.#parts;
    const account = accounts.find(({ login }) => login === order.login);
    const secret = websiteOf(accounts, order)?.salt ?? account?.password;
    if (secret === undefined) return;
    const to = mails ? mailAddresses(textOf(order.fields, "emailCallback")) : [];
    if (url === "" && to.length === 0) return;
    const struck = faults.takeForNotification();
    const inOrder = has(struck, "notification-reversed") ? operations.toReversed() : operations;
    for (const operation of inOrder.flatMap((one) => announced(one, struck))) {
      const subject = `${operation.type} ${operation.status}`;
      const fields = resultFields(order, operation);
      const document = mapiDocument(fields, secret, has(struck, "notification-bad-digest"));
      const posted = {
        subject,
        url,
        contentType: "application/x-www-form-urlencoded",
        body: new URLSearchParams({ xml: document }).toString(),
      };
      const mailed = {
        subject,
        url: `mailto:${to.join(",")}`,
        contentType: "message/rfc822",
        body: mailText({
          to,
          subject: `${subject}: ${order.transactionPublicId}`,
          messageId: `${order.transactionPublicId}.${operation.id}.${operation.status}`,
          nowMs: clock.now(),
          fields,
        }),
      };
      const due = [...(url === "" ? [] : [posted]), ...(to.length === 0 ? [] : [mailed])];
      this.#add(order, struck, due);
    }
  }

  /** Notifies the fraud event if the website has an address for it (docs/design.md 12.19). */
  #notifyFraud(order: Order, operations: readonly OrderOperation[]): void {
    const website = websiteOf(this.#parts.accounts, order);
    if (website?.fraudUrl === undefined) return;
    const struck = this.#parts.faults.takeForNotification();
    const body = JSON.stringify({
      event_key: "operation.fraud_reported_by_acquirer",
      data: transactionView(order, operations),
      sent_date: isoTime(this.#parts.clock.now()).replace(/\.\d+Z$/, "+00:00"),
    });
    const { fraudUrl: url, passphrase } = website;
    const secret = has(struck, "notification-bad-digest") ? `${passphrase}?` : passphrase;
    // docs/gateway.md 4.2: hex of SHA-256 over raw body followed by the passphrase.
    const signature = secret && createHash("sha256").update(body).update(secret).digest("hex");
    const fraud = { subject: "fraud", url, contentType: "application/json", body, signature };
    this.#add(order, struck, [fraud]);
  }

  /** Writes the notifications, each twice or late if a fault has struck. */
  #add(order: Order, struck: readonly Fault[], due: readonly Due[]): void {
    const { notifications, clock } = this.#parts;
    const delayed = struck.find(({ kind }) => kind === "notification-delayed");
    const dueMs = clock.now() + (delayed?.delayMs ?? 0);
    for (let copies = has(struck, "notification-twice") ? 2 : 1; copies > 0; copies--) {
      for (const one of due) {
        notifications.add({ ...one, orderId: order.id, signature: one.signature ?? "", dueMs });
      }
    }
  }
}

function has(struck: readonly Fault[], kind: Fault["kind"]): boolean {
  return struck.some((fault) => fault.kind === kind);
}

/** Returns the states in which one operation is notified. */
function announced(operation: OrderOperation, struck: readonly Fault[]): readonly OrderOperation[] {
  const waits = operation.status !== "waiting" && has(struck, "notification-waiting");
  return waits ? [{ ...operation, status: "waiting" }, operation] : [operation];
}
