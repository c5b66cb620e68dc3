import { IpcError } from "../../shared/ipc/client.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { type Clock, type Timer, within } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import type { HandOffRows, PendingHandOff } from "../journal/hand-offs/hand-off-rows.ts";
import type { RefusedHandOff, RefusedRows } from "../journal/hand-offs/refused-rows.ts";
import { RETRY_MAX_MS, Retrying } from "./retrying.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

const RETRY_MIN_MS = 250;
/** How many rows are read at once; the rest waits on disk. */
const BATCH = 50;
/** Pause before a transaction that the supervisor refuses is tried again. */
export const PARKED_MS = 3_600_000;
/** After so many failures in a row the cause is the supervisor, not a transaction. */
const FAILURES_MAX = 3;

/** How long a delivery is waited for that the previous process may have answered as sent. */
const ANSWERED_WAIT_MS = 3_000;

/** A caller that waits for a hand-off. */
interface Waiting extends PromiseWithResolvers<DeliveryState | undefined> {
  /** Monotonic; the first try at the gateway is waited for until then as well. */
  readonly deadlineMs: number;
}

/** The supervisor takes nothing. */
interface HandOffStall {
  readonly reason: string;
  readonly sinceMs: number;
  /** How many wait. */
  readonly pending: number;
}

/**
 * Brings every charged transaction to the supervisor: at start, on {@link nudge}, and again and
 * again until it has been acknowledged. One at a time, oldest first.
 */
export class HandOff {
  readonly #store: HandOffRows;
  readonly #link: SupervisorLink;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting = new Map<string, Waiting>();
  /**
   * Transactions that the previous process may have answered as sent before that was on disk: its
   * last unacknowledged batch.
   */
  readonly #perhapsAnswered: ReadonlySet<string>;
  /** Payments of this process that were not tried yet: nobody can have handed them off before. */
  readonly #fresh = new Set<string>();
  /** The last one that was with the gateway when it was handed off. */
  #sentLast: string | undefined;
  readonly #task: Retrying;
  /** Until parked rows are tried again. */
  #parkedTimer: Timer | undefined;
  /** Only this object parks rows, so they need not be counted each time. */
  #mayBeParked = true;
  #failing: Pick<HandOffStall, "reason" | "sinceMs"> | null = null;

  constructor(store: HandOffRows, link: SupervisorLink, clock: Clock, log: Logger) {
    this.#store = store;
    this.#link = link;
    this.#clock = clock;
    this.#log = log;
    this.#task = new Retrying(clock, "hand-off retry", () => this.#run(), RETRY_MIN_MS);
    // Before anything else can be handed off or asked for.
    this.#perhapsAnswered = new Set(store.oldestUnacknowledged(BATCH));
  }

  /** null: every transaction was taken so far, or the next one is on its way. */
  get trouble(): HandOffStall | null {
    return this.#failing && { ...this.#failing, pending: this.#store.countPendingHandOffs() };
  }

  /** Begins, or goes on at once when it was waiting for a retry. */
  nudge(): void {
    this.#task.nudge();
  }

  /**
   * Begins the hand-off of a payment that ended charged just now, so that the supervisor works
   * while the rest of the end is done here; {@link delivered} will wait for it so long.
   */
  begin({ state, transactionId }: Attempt, waitMs: number): void {
    if (!isCharged(state)) return;
    this.#fresh.add(transactionId);
    void this.#awaited(transactionId, this.#clock.monotonicMs() + waitMs);
  }

  /**
   * Returns the delivery state of a transaction, after at most `waitMs` for its hand-off and first
   * try together. Every new state is kept in the journal.
   */
  async delivered(transactionId: string, waitMs: number): Promise<DeliveryState> {
    if (transactionId === this.#sentLast) return "sent"; // a row that is read is written first
    // "true" must not become "false" by a crash (docs/design.md 5.8).
    const limitMs = this.#perhapsAnswered.has(transactionId)
      ? Math.max(waitMs, ANSWERED_WAIT_MS)
      : waitMs;
    const deadlineMs = this.#clock.monotonicMs() + limitMs;
    const handedOff = this.#acknowledged(transactionId, deadlineMs);
    const delivered = handedOff && (await within(this.#clock, "hand-off", limitMs, handedOff));
    if (delivered) return delivered;
    const row = this.#store.handOff(transactionId);
    if (!row) return this.#store.archivedDelivery(transactionId) ?? "pending";
    if (!row.acknowledged || row.dropped || row.delivery === "sent") return row.delivery;
    try {
      const left = Math.max(0, Math.round(deadlineMs - this.#clock.monotonicMs()));
      const asked = { transactionId, waitMs: left };
      const { state } = await this.#link.call("transaction-delivery", asked);
      if (!state) {
        // The supervisor acknowledged and forgot, so it has another database: not answered as sent.
        this.#log.error({ transactionId, alarm: "hand-off" }, "the supervisor lost a transaction");
        return row.delivery;
      }
      this.#store.setDelivery(transactionId, state, this.#clock.now());
      return state;
    } catch (error) {
      this.#log.debug({ transactionId, err: error }, "the supervisor did not report the delivery");
      return row.delivery;
    }
  }

  close(): Promise<void> {
    this.#parkedTimer?.clear();
    return this.#task.close();
  }

  /**
   * Resolves when the transaction is handed off, with its delivery state where the supervisor gave
   * one. undefined: it is handed off already, or was refused.
   */
  #acknowledged(
    transactionId: string,
    deadlineMs: number,
  ): Promise<DeliveryState | undefined> | undefined {
    if (!this.#waiting.has(transactionId)) {
      const row = this.#store.handOff(transactionId);
      if (row?.acknowledged !== false || row.isRefused) return undefined;
    }
    return this.#awaited(transactionId, deadlineMs);
  }

  #awaited(transactionId: string, deadlineMs: number): Promise<DeliveryState | undefined> {
    const known = this.#waiting.get(transactionId);
    const waiting = known ?? {
      ...Promise.withResolvers<DeliveryState | undefined>(),
      deadlineMs,
    };
    this.#waiting.set(transactionId, waiting);
    // A hand-off that began for it is on its way.
    if (!known || !this.#task.isRunning) this.nudge();
    return waiting.promise;
  }

  async #run(): Promise<number | undefined> {
    try {
      for (;;) {
        const now = this.#clock.now();
        const batch = this.#store.pendingHandOffs(BATCH, now - PARKED_MS, now);
        this.#tryParkedLater();
        const pauseMs = await this.#handOffAll(batch);
        if (pauseMs !== undefined || batch.length < BATCH || this.#task.isClosed) return pauseMs;
      }
    } catch (error) {
      // The row is as it was, and is tried again.
      if (this.#task.isClosed) return undefined;
      this.#log.error({ err: error, alarm: "journal" }, "the journal failed during a hand-off");
      return RETRY_MAX_MS;
    }
  }

  /**
   * A row that fails holds up no other one: when a later one is taken, the fault is the row's own
   * and the row is parked. Resolves with a pause where the fault is the supervisor's.
   */
  async #handOffAll(batch: readonly PendingHandOff[]): Promise<number | undefined> {
    let failed: Array<{ readonly row: PendingHandOff; readonly why: string }> = [];
    for (const row of batch) {
      if (this.#task.isClosed) return undefined;
      const fault = await this.#handOffOne(row);
      if (!fault) {
        for (const one of failed) this.#park(one.row, one.why);
        failed = [];
      } else if (fault.by === "row") {
        this.#park(row, fault.why);
      } else {
        failed.push({ row, why: fault.why });
        if (fault.by === "supervisor" || failed.length >= FAILURES_MAX) break;
      }
    }
    const [first] = failed;
    return first && this.#retryLater(first.row, first.why);
  }

  /** Sales and starts try them too; on a day without any the clock has to. */
  #tryParkedLater(): void {
    if (this.#parkedTimer || this.#task.isClosed || !this.#mayBeParked) return;
    this.#mayBeParked = this.#store.countRefused() > 0;
    if (!this.#mayBeParked) return;
    this.#parkedTimer = this.#clock.startTimer("parked hand-offs", PARKED_MS, () => {
      this.#parkedTimer = undefined;
      this.nudge();
    });
  }

  #retryLater({ transaction }: PendingHandOff, reason: string): number {
    const { transactionId, orderId } = transaction;
    this.#failing = { reason, sinceMs: this.#failing?.sinceMs ?? this.#clock.now() };
    const retryMs = this.#task.failed();
    const text = "the supervisor did not take a transaction, trying again";
    this.#log.warn({ transactionId, orderId, reason, retryMs }, text);
    return retryMs;
  }

  #park({ transaction }: PendingHandOff, why: string): void {
    const { transactionId, orderId } = transaction;
    const isNew = this.#store.noteRefusal(transactionId, why, this.#clock.now());
    this.#mayBeParked = true;
    this.#tryParkedLater();
    // Nobody waits for it any longer: its delivery is not known.
    this.#waiting.get(transactionId)?.resolve(undefined);
    this.#waiting.delete(transactionId);
    const text =
      "the supervisor refuses this transaction: the others go on, this one is tried again each " +
      "hour; its log says why";
    const details = { transactionId, orderId, reason: why };
    if (isNew) this.#log.error({ ...details, alarm: "hand-off-refused" }, text);
    else this.#log.warn(details, text);
  }

  async #handOffOne({ what, transaction }: PendingHandOff): Promise<Fault | undefined> {
    const { transactionId, orderId } = transaction;
    const isFirst = this.#fresh.delete(transactionId);
    let state: DeliveryState | undefined;
    try {
      if (what === "reversed") await this.#withdraw(transaction, isFirst);
      else state = await this.#storeThere(transaction, isFirst);
    } catch (error) {
      return faultOf(error);
    }
    this.#task.succeeded();
    this.#failing = null;
    if (state === "sent") this.#sentLast = transactionId;
    if (what === "charged") {
      this.#store.acknowledgeHandOff(transactionId, state ?? "pending", this.#clock.now());
    }
    const waiting = this.#waiting.get(transactionId);
    this.#waiting.delete(transactionId);
    waiting?.resolve(state);
    // The kiosk is answered first.
    if (waiting) await new Promise((resolve) => setImmediate(resolve));
    this.#log.info({ transactionId, orderId, what }, "handed off to the supervisor");
    return undefined;
  }

  /**
   * One message for both: the supervisor stores it, and waits for its first try as long as a caller
   * here does, or as what a former process may have answered needs. Resolves with undefined when
   * nobody waits, or the supervisor is of an older version.
   */
  async #storeThere(
    transaction: Transaction,
    isFirst: boolean,
  ): Promise<DeliveryState | undefined> {
    const { transactionId } = transaction;
    const now = this.#clock.monotonicMs();
    const ask = this.#perhapsAnswered.has(transactionId) ? now : undefined;
    const deadlineMs = this.#waiting.get(transactionId)?.deadlineMs ?? ask;
    const leftMs = deadlineMs === undefined ? undefined : deadlineMs - now;
    const wait = leftMs === undefined ? {} : { waitMs: Math.max(0, Math.round(leftMs)) };
    return (await this.#link.call("store-transaction", { transaction, isFirst, ...wait })).state;
  }

  /** Closes what was never sent, else raises an alarm (docs/rules/07-returns.md). */
  async #withdraw(transaction: Transaction, isFirst: boolean): Promise<void> {
    const { transactionId, orderId } = transaction;
    const { outcome } = await this.#link.call("withdraw-transaction", { transaction, isFirst });
    this.#store.acknowledgeWithdrawal(transactionId);
    if (outcome === "closed") {
      this.#store.setDelivery(transactionId, "closed", this.#clock.now());
      return;
    }
    this.#log.error(
      { transactionId, orderId, alarm: "reversed-after-sending" },
      "the sale does not stand, but the gateway has or may have it: refund or cancel it there",
    );
  }
}

/** Why a transaction was not taken. "unclear": one of the other two. */
interface Fault {
  readonly by: "supervisor" | "row" | "unclear";
  readonly why: string;
}

/** HTTP statuses by which the supervisor refuses the message itself. */
const ROW_STATUSES: readonly (number | undefined)[] = [400, 413, 422];

function faultOf(error: unknown): Fault {
  const why = (error as Error).message;
  if (!(error instanceof IpcError) || error.failure !== "refused") return { by: "supervisor", why };
  if (error.status === 500) return { by: "unclear", why };
  const isRow = error.status === undefined || ROW_STATUSES.includes(error.status);
  return { by: isRow ? "row" : "supervisor", why };
}

/** An operator's decisions about parked transactions (docs/rules/17-loss.md). */
export class RefusedHandOffs {
  readonly #refused: RefusedRows;
  readonly #handOff: Pick<HandOff, "nudge">;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(refused: RefusedRows, handOff: Pick<HandOff, "nudge">, clock: Clock, log: Logger) {
    this.#refused = refused;
    this.#handOff = handOff;
    this.#clock = clock;
    this.#log = log;
  }

  /** Those after the position `after`, oldest first. */
  list(after: number, limit: number): RefusedHandOff[] {
    return this.#refused.list(after, limit);
  }

  /** Hands it off now; also one that was dropped. false: none is refused under this id. */
  requeue(transactionId: string): boolean {
    if (!this.#refused.requeue(transactionId, this.#clock.now())) return false;
    this.#handOff.nudge();
    return true;
  }

  /** Gives the hand-off up, with a note that is kept. false: none is refused under this id. */
  drop(transactionId: string, note: string): boolean {
    const dropped = this.#refused.drop(transactionId, maskPansInText(note), this.#clock.now());
    if (!dropped) return false;
    const text = "an operator dropped a hand-off that the supervisor refuses";
    this.#log.warn({ transactionId }, text);
    if (dropped === "reversal") {
      this.#log.error(
        { transactionId, alarm: "reversed-after-sending" },
        "the sale does not stand, and the supervisor does not know: it or the gateway may have it",
      );
    }
    return true;
  }
}
