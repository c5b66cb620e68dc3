import { createHash } from "node:crypto";
import type { Clock } from "../../../shared/time.ts";
import type { Account, Website } from "../account.ts";
import type { Fault, FaultList } from "../faults.ts";
import { transactionView } from "../lookup/transaction-view.ts";
import type { Order, OrderOperation } from "../orders/order.ts";
import { textOf } from "../soap/parameters.ts";
import { mailAddresses, mailText } from "./mail.ts";
import { mapiDocument, resultFields } from "./mapi-document.ts";
import type { NotificationStore } from "./notification-store.ts";

interface NotifierParts {
  readonly accounts: readonly Account[];
  readonly notifications: NotificationStore;
  readonly faults: FaultList;
  /** Whether mails have anywhere to go. */
  readonly mails: boolean;
  readonly clock: Clock;
}

/** Writes notifications to be delivered, inside the transaction that made them due. */
export class Notifier {
  readonly #parts: NotifierParts;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  /** Notifies each operation, in their order unless a fault changes that. */
  operations(order: Order, operations: readonly OrderOperation[]): void {
    const url = textOf(order.fields, "urlCallback");
    const secret = this.#websiteOf(order)?.salt ?? this.#accountOf(order)?.password;
    if (secret === undefined) return;
    const { faults, clock, notifications, mails } = this.#parts;
    const to = mails ? mailAddresses(textOf(order.fields, "emailCallback")) : [];
    if (url === "" && to.length === 0) return;
    const struck = faults.takeForNotification();
    const dueMs = clock.now() + delayOf(struck);
    const inOrder = has(struck, "notification-reversed") ? operations.toReversed() : operations;
    for (const operation of inOrder.flatMap((one) => announced(one, struck))) {
      const subject = `${operation.type} ${operation.status}`;
      const common = { orderId: order.id, subject, signature: "", dueMs };
      const fields = resultFields(order, operation);
      const document = mapiDocument(fields, secret, has(struck, "notification-bad-digest"));
      const posted = {
        url,
        contentType: "application/x-www-form-urlencoded",
        body: new URLSearchParams({ xml: document }).toString(),
      };
      const mailed = {
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
      for (let copies = has(struck, "notification-twice") ? 2 : 1; copies > 0; copies--) {
        if (url !== "") notifications.add({ ...common, ...posted });
        if (to.length > 0) notifications.add({ ...common, ...mailed });
      }
    }
  }

  /** Notifies the fraud event if the website has an address for it (docs/design.md 12.19). */
  fraud(order: Order, operations: readonly OrderOperation[]): void {
    const website = this.#websiteOf(order);
    if (website?.fraudUrl === undefined) return;
    const { faults, clock, notifications } = this.#parts;
    const struck = faults.takeForNotification();
    const body = JSON.stringify({
      event_key: "operation.fraud_reported_by_acquirer",
      data: transactionView(order, operations),
      sent_date: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "+00:00"),
    });
    const secret = has(struck, "notification-bad-digest")
      ? `${website.passphrase}?`
      : website.passphrase;
    const notification = {
      orderId: order.id,
      subject: "fraud",
      url: website.fraudUrl,
      contentType: "application/json",
      body,
      // docs/gateway.md 4.2: hex of SHA-256 over raw body followed by the passphrase.
      signature:
        secret === undefined ? "" : createHash("sha256").update(body).update(secret).digest("hex"),
      dueMs: clock.now() + delayOf(struck),
    };
    for (let copies = has(struck, "notification-twice") ? 2 : 1; copies > 0; copies--) {
      notifications.add(notification);
    }
  }

  #websiteOf(order: Order): Website | undefined {
    return this.#accountOf(order)?.websites.find(({ id }) => id === order.websiteId);
  }

  #accountOf({ login }: Order): Account | undefined {
    return this.#parts.accounts.find((account) => account.login === login);
  }
}

function has(struck: readonly Fault[], kind: Fault["kind"]): boolean {
  return struck.some((fault) => fault.kind === kind);
}

function delayOf(struck: readonly Fault[]): number {
  return struck.find(({ kind }) => kind === "notification-delayed")?.delayMs ?? 0;
}

/** Returns the states in which one operation is notified. */
function announced(operation: OrderOperation, struck: readonly Fault[]): readonly OrderOperation[] {
  const waits = operation.status !== "waiting" && has(struck, "notification-waiting");
  return waits ? [{ ...operation, status: "waiting" }, operation] : [operation];
}
