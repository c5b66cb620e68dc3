import { hash } from "node:crypto";
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
  /** Whether notifications are also mailed, to a mail server or into a file. */
  readonly mails: boolean;
  readonly clock: Clock;
  readonly paymentsWait: boolean;
}

type Due = Omit<NewNotification, "orderId" | "dueMs">;

/** Changes orders with their history and notifications, in the caller's database transaction. */
export class Ledger {
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** Pays the order with a card that is approved, or lets the payment wait for an operator. */
  accept(order: Order, payment: Payment): Order {
    if (!this.#parts.paymentsWait) return this.pay(order, payment);
    return this.#paid(order, payment, { kind: "wait" });
  }

  /** Authorizes an order and captures it unless manualCapture is set (docs/design.md 12.10). */
  pay(order: Order, payment: Payment): Order {
    const capture: Demand[] = order.manualCapture ? [] : [{ kind: "capture" }];
    return this.#paid(order, payment, { kind: "authorize" }, ...capture);
  }

  decline(order: Order, payment: Payment): Order {
    return this.#paid(order, payment, { kind: "decline" });
  }

  demand(order: Order, ...demands: readonly Demand[]): Order {
    const { orders, faults } = this.#parts;
    const known = orders.operations(order.id).length;
    let current = order;
    for (const demand of demands) {
      const step = decide(current, demand);
      const fails = faults.takeForOperation(step.type, order);
      orders.change(order.id, fails ? {} : step.next);
      orders.addOperation(order.id, fails ? { ...step, status: "nok" } : step);
      current = orders.known(order.id);
    }
    this.#notify(current, orders.operations(order.id).slice(known));
    return current;
  }

  /** Marks the captured payment of an order as fraud, and notifies the merchant of the fraud. */
  reportFraud(order: Order): Order {
    const { orders } = this.#parts;
    if (!orders.markFraud(order.id)) throw new DemandRefused(order, "it has no capture to report");
    this.#notifyFraud(order, orders.operations(order.id));
    return order;
  }

  #paid(order: Order, payment: Payment, ...demands: readonly Demand[]): Order {
    this.#parts.orders.paidWith(order.id, payment);
    return this.demand(order, ...demands);
  }

  /** Adds a notification for each operation, in sequence unless a fault reverses the sequence. */
  #notify(order: Order, operations: readonly OrderOperation[]): void {
    const url = textOf(order.fields, "urlCallback");
    const { accounts, faults, clock, mails } = this.#parts;
    const account = accounts.find(({ login }) => login === order.login);
    const secret = websiteOf(accounts, order)?.salt ?? account?.password;
    if (secret === undefined) return;
    const to = mails ? mailAddresses(textOf(order.fields, "emailCallback")) : [];
    if (url === "" && to.length === 0) return;
    const struck = faults.takeForNotification(order);
    const inOrder = has(struck, "notification-reversed") ? operations.toReversed() : operations;
    for (const operation of inOrder.flatMap((one) => announced(one, struck))) {
      const subject = `${operation.type} ${operation.status}`;
      const fields = resultFields(order, operation);
      const document = mapiDocument(fields, secret, has(struck, "notification-bad-digest"));
      const posted = {
        subject,
        url,
        contentType: "application/x-www-form-urlencoded",
        signature: "",
        body: new URLSearchParams({ xml: document }).toString(),
      };
      const mailed = {
        subject,
        url: `mailto:${to.join(",")}`,
        contentType: "message/rfc822",
        signature: "",
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

  /** Notifies of a fraud event if the website has an address for it (docs/design.md 12.19). */
  #notifyFraud(order: Order, operations: readonly OrderOperation[]): void {
    const website = websiteOf(this.#parts.accounts, order);
    if (website?.fraudUrl === undefined) return;
    const struck = this.#parts.faults.takeForNotification(order);
    const body = JSON.stringify({
      event_key: "operation.fraud_reported_by_acquirer",
      data: transactionView(order, operations),
      sent_date: isoTime(this.#parts.clock.now()).replace(/\.\d+Z$/, "+00:00"),
    });
    const { fraudUrl: url, passphrase } = website;
    const isForged = has(struck, "notification-bad-digest");
    const secret = isForged ? `${passphrase ?? ""}?` : passphrase;
    // The signature is SHA-256 over the body and the passphrase, in hex (docs/gateway.md 4.2).
    const signature = secret === undefined ? "" : hash("sha256", body + secret);
    const fraud = { subject: "fraud", url, contentType: "application/json", body, signature };
    this.#add(order, struck, [fraud]);
  }

  /** Stores notifications to be sent; a fault can make each of them be sent twice or late. */
  #add(order: Order, struck: readonly Fault[], due: readonly Due[]): void {
    const { notifications, clock } = this.#parts;
    const delayed = struck.find(({ kind }) => kind === "notification-delayed");
    const dueMs = clock.now() + (delayed?.delayMs ?? 0);
    for (let copies = has(struck, "notification-twice") ? 2 : 1; copies > 0; copies--) {
      for (const one of due) notifications.add({ ...one, orderId: order.id, dueMs });
    }
  }
}

function has(struck: readonly Fault[], kind: Fault["kind"]): boolean {
  return struck.some((fault) => fault.kind === kind);
}

/** Returns the operation; a fault can put a copy with the status "waiting" before it. */
function announced(operation: OrderOperation, struck: readonly Fault[]): readonly OrderOperation[] {
  const waits = operation.status !== "waiting" && has(struck, "notification-waiting");
  return waits ? [{ ...operation, status: "waiting" }, operation] : [operation];
}
