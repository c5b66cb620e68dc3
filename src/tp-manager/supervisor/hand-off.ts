import type { DeliveryState } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/logger.ts";
import { type Clock, type Timer, within } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { HandOffStore, PendingHandOff } from "../attempts/hand-off-store.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 15_000;
/** How many rows are read at once; the rest waits on disk. */
const BATCH = 50;

/**
 * Brings every charged transaction to the supervisor: at start, on {@link nudge}, and again and
 * again until it has been acknowledged. One at a time, oldest first.
 */
export class HandOff {
  readonly #store: HandOffStore;
  readonly #link: SupervisorLink;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  #running: Promise<void> | undefined;
  #again = false;
  #retry: Timer | undefined;
  #retryMs = RETRY_MIN_MS;
  #closed = false;

  constructor(store: HandOffStore, link: SupervisorLink, clock: Clock, log: Logger) {
    this.#store = store;
    this.#link = link;
    this.#clock = clock;
    this.#log = log;
  }

  /** Begins, or goes on at once when it was waiting for a retry. */
  nudge(): void {
    this.#retry?.clear();
    this.#retry = undefined;
    if (this.#closed) return;
    this.#again = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#again) this.nudge();
    });
  }

  /**
   * The gateway's word about a transaction, waiting at most `waitMs` for its hand-over and first
   * try together. Every new word is kept in the journal.
   */
  async delivered(transactionId: string, waitMs: number): Promise<DeliveryState> {
    const deadlineMs = this.#clock.monotonicMs() + waitMs;
    await within(this.#clock, "hand-over", waitMs, this.#acknowledged(transactionId));
    const row = this.#store.handOff(transactionId);
    if (!row) return this.#store.archivedDelivery(transactionId) ?? "pending";
    if (!row.acknowledged || row.delivery === "sent") return row.delivery;
    try {
      const left = Math.max(0, Math.round(deadlineMs - this.#clock.monotonicMs()));
      const asked = { transactionId, waitMs: left };
      const { state } = await this.#link.call("transaction-delivery", asked);
      if (!state) {
        // The supervisor acknowledged and forgot, so it has another database: never told as sent.
        this.#log.error({ transactionId, alarm: "hand-off" }, "the supervisor lost a transaction");
        return row.delivery;
      }
      this.#store.setDelivery(transactionId, state, this.#clock.now());
      return state;
    } catch (error) {
      this.#log.debug({ transactionId, err: error }, "the supervisor did not tell the delivery");
      return row.delivery;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#again = false;
    this.#retry?.clear();
    await this.#running;
  }

  #acknowledged(transactionId: string): Promise<void> {
    if (this.#store.handOff(transactionId)?.acknowledged !== false) return Promise.resolve();
    const waiting = this.#waiting.get(transactionId) ?? Promise.withResolvers<void>();
    this.#waiting.set(transactionId, waiting);
    this.nudge();
    return waiting.promise;
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      let batch: PendingHandOff[];
      do {
        batch = this.#store.pendingHandOffs(BATCH);
        for (const pending of batch) {
          if (this.#closed) return;
          if (!(await this.#handOver(pending))) return;
        }
      } while (batch.length === BATCH);
    }
  }

  async #handOver({ what, transaction }: PendingHandOff): Promise<boolean> {
    const { transactionId, orderId } = transaction;
    try {
      if (what === "reversed") await this.#withdraw(transaction);
      else await this.#link.call("store-transaction", { transaction });
    } catch (error) {
      this.#log.warn(
        { transactionId, orderId, reason: (error as Error).message, retryMs: this.#retryMs },
        "the supervisor did not take a transaction, trying again",
      );
      this.#again = false;
      this.#retry = this.#clock.startTimer("hand-off retry", this.#retryMs, () => this.nudge());
      this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
      return false;
    }
    this.#retryMs = RETRY_MIN_MS;
    if (what === "charged") this.#store.acknowledgeHandOff(transactionId);
    this.#waiting.get(transactionId)?.resolve();
    this.#waiting.delete(transactionId);
    this.#log.info({ transactionId, orderId, what }, "handed over to the supervisor");
    return true;
  }

  /** docs/design.md 3.7: never sent, the item is closed; else somebody has to look. */
  async #withdraw(transaction: Transaction): Promise<void> {
    const { transactionId, orderId } = transaction;
    const { outcome } = await this.#link.call("withdraw-transaction", { transaction });
    this.#store.acknowledgeWithdrawal(transactionId);
    if (outcome === "closed") {
      this.#store.setDelivery(transactionId, "closed", this.#clock.now());
      return;
    }
    this.#log.error(
      { transactionId, orderId, alarm: "reversed-after-sending" },
      "the sale was reversed, but the gateway has or may have its order: refund or cancel it there",
    );
  }
}
