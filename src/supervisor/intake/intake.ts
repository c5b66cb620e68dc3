import { isDeepStrictEqual } from "node:util";
import { MessageRefused } from "../../shared/ipc/server.ts";
import { containsPan, maskPan, maskPansInText } from "../../shared/masking/mask.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { Forwarder } from "../outbox/forwarder.ts";
import type { OutboxStore } from "../outbox/outbox-store.ts";
import type { StoreLosses } from "../outbox/store-losses.ts";

interface IntakeParts {
  readonly store: OutboxStore;
  readonly losses: StoreLosses;
  readonly forwarder: Forwarder;
  readonly clock: Clock;
  readonly log: AlarmLog;
}

/** Stores the transactions that tp-manager hands off, each once (docs/architecture.md 1.2). */
export class Intake {
  readonly #parts: IntakeParts;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /**
   * Stores a transaction with its position in the outbox, on disk when this returns. A known
   * transaction changes nothing; another content of it throws {@link MessageRefused}. A transaction
   * that a lost database may have sent is looked up first (docs/rules/29-supervisor-loss.md).
   * `isFirst`: the transaction was never handed off before. `wasWithdrawn`: its sale was withdrawn
   * and is charged after all, so a closed item is sent (docs/rules/09-handoff.md).
   */
  store(given: Transaction, isFirst?: boolean, wasWithdrawn?: boolean): void {
    const { store, losses, forwarder, clock, log } = this.#parts;
    const transaction = this.#masked(given);
    const { transactionId, orderId } = transaction;
    const known = store.content(transactionId);
    const mayBeSent = losses.mayHaveHad(transaction, isFirst);
    if (known !== undefined && wasWithdrawn && store.restore(transaction, clock.now(), mayBeSent)) {
      forwarder.restored(transactionId);
      const what = "a sale that had been withdrawn is charged after all, and is handed off again";
      log.warn({ transactionId, orderId }, what);
      return;
    }
    if (known !== undefined) {
      this.#compare(transaction, JSON.parse(known) as Record<string, unknown>);
      log.debug({ transactionId, orderId }, "a stored transaction was handed off again");
      return;
    }
    const others = store.othersOfOrder(transaction);
    if (others.length > 0) {
      // Raised before the transaction is stored, because later hand-offs only compare it.
      const details = { orderId, transactionId, otherTransactionIds: others.slice(0, 5) };
      const what = "another transaction has the same order id";
      log.error({ alarm: "order-charged-twice", ...details }, what);
    }
    const how = { mayBeSent, isClaimed: forwarder.takesAtOnce };
    const claimed = store.add(transaction, clock.now(), how);
    // Nothing may fail between the claim and this try, because nothing else tries a claimed item.
    forwarder.tryAtOnce(transactionId, claimed);
    // "debug" for a claimed item, because the end of its first try is logged soon as well.
    log[claimed ? "debug" : "info"]({ transactionId, orderId }, "a transaction is stored");
  }

  /**
   * Closes the item of a sale that was reversed, or corrected to not charged, so that it is not
   * sent (docs/rules/27-both-sides.md). If the gateway has or may have the order, an alarm asks an
   * operator to correct it there.
   */
  withdraw(given: Transaction, isFirst?: boolean): "closed" | "sent" {
    const { store, losses, clock, log } = this.#parts;
    const { transactionId, orderId } = given;
    const mayBeSent = losses.mayHaveHad(given, isFirst);
    const outcome = store.withdraw(this.#masked(given), clock.now(), mayBeSent);
    if (outcome === "running") {
      throw new Error(`${transactionId} is being sent to the gateway; ask again later`);
    }
    if (outcome === "closed") {
      const what = "a sale was reversed, or corrected to not charged, before it was sent";
      log.info({ transactionId, orderId }, what);
    } else {
      const what = "the sale is reversed or not charged, but the gateway has or may have its order";
      log.error({ alarm: "reversed-after-sending", transactionId, orderId }, what);
    }
    return outcome;
  }

  /**
   * Throws if a known transaction is handed off with another content. Fields that only one side has
   * are not compared, because versions may differ (docs/design.md 7.2), nor are erased details.
   */
  #compare(given: Transaction, known: Readonly<Record<string, unknown>>): void {
    const left = ["orderId", "amountMinor", "currency", "exponent"];
    const differing = Object.entries(given)
      .filter(([name]) => name in known && (known["trimmed"] !== true || left.includes(name)))
      .filter(([name, value]) => !isDeepStrictEqual(value, known[name]))
      .map(([name]) => name);
    if (differing.length === 0) return;
    const { transactionId, orderId } = given;
    const what = "a stored transaction was handed off again with another content: refused";
    const details = { transactionId, orderId, differing };
    this.#parts.log.error({ alarm: "transaction-changed", ...details }, what);
    throw new MessageRefused(`${transactionId} is stored with other ${differing.join(", ")}`);
  }

  /** Returns the transaction with card numbers masked once more (docs/design.md 6.2). */
  #masked(given: Transaction): Transaction {
    const maskedPan = given.maskedPan === null ? null : maskPan(given.maskedPan);
    const customData = Object.fromEntries(
      Object.entries(given.customData).map(([key, value]) =>
        containsPan(String(value)) ? [key, maskPansInText(String(value))] : [key, value],
      ),
    );
    const unmasked =
      (given.maskedPan !== null && /\d{11}/.test(given.maskedPan)) ||
      !isDeepStrictEqual(customData, given.customData);
    if (unmasked) {
      const { transactionId, orderId } = given;
      const what = "masked before it was stored";
      this.#parts.log.error({ alarm: "card-number-masked", transactionId, orderId }, what);
    }
    return { ...given, maskedPan, customData };
  }
}
