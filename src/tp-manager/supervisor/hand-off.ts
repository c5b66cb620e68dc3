import { BrokenInvariant } from "../../shared/invariant.ts";
import { IpcError } from "../../shared/ipc/client.ts";
import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { maskPansInText } from "../../shared/masking/mask.ts";
import type { AlarmLog } from "../../shared/process/logger.ts";
import { RETRY_MAX_MS, Retrying } from "../../shared/process/retrying.ts";
import { type Clock, type Timer, within } from "../../shared/time.ts";
import type { Transaction } from "../../shared/transaction.ts";
import { type Attempt, isCharged } from "../attempts/payment.ts";
import type { HandOffRows, PendingHandOff } from "../journal/hand-off-rows.ts";
import type { RefusedHandOff, RefusedRows } from "../journal/operator-rows.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

const RETRY_MIN_MS = 250;
const BATCH = 50;
/** The pause after which a transaction that the supervisor refused is handed off again. */
export const PARKED_MS = 3_600_000;
/** After so many successive failures the supervisor counts as at fault, not the transactions. */
const FAILURES_MAX = 3;

/** How long an answer waits for a delivery that an earlier answer may have reported as sent. */
const ANSWERED_WAIT_MS = 3_000;

/** A caller that waits until a transaction is handed off to the supervisor. */
interface Waiting extends PromiseWithResolvers<DeliveryState | undefined> {
  /** When the caller stops waiting for the first send to the gateway, on the monotonic clock. */
  readonly deadlineMs: number;
}

/**
 * Hands off every charged transaction (docs/rules/09-handoff.md) to the supervisor, one at a time,
 * oldest first: at start, after {@link nudge}, and repeatedly until the supervisor has accepted it.
 */
export class HandOff {
  readonly #store: HandOffRows;
  readonly #link: SupervisorLink;
  readonly #clock: Clock;
  readonly #log: AlarmLog;
  readonly #waiting = new Map<string, Waiting>();
  /**
   * The oldest transactions not accepted at start. The previous process may have answered the
   * kiosk that they were sent, before this was on disk.
   */
  readonly #perhapsAnswered: ReadonlySet<string>;
  /** The transactions charged in this process whose hand-off has not been tried yet. */
  readonly #fresh = new Set<string>();
  /** The newest transaction that was at the gateway when the supervisor accepted it. */
  #sentLast: string | undefined;
  readonly #task: Retrying;
  #parkedTimer: Timer | undefined;
  /** Whether any hand-off may be parked; while false, no query counts the parked hand-offs. */
  #mayBeParked = true;
  /** Since when and why the supervisor accepts no transactions at all. */
  #failing: { readonly reason: string; readonly sinceMs: number } | null = null;

  constructor(store: HandOffRows, link: SupervisorLink, clock: Clock, log: AlarmLog) {
    this.#store = store;
    this.#link = link;
    this.#clock = clock;
    this.#log = log;
    this.#task = new Retrying(clock, "hand-off retry", () => this.#run(), RETRY_MIN_MS);
    // Read at start, before a transaction of this process itself can be without an answer.
    this.#perhapsAnswered = new Set(store.oldestNotAccepted(BATCH));
  }

  /** Why hand-offs fail now; null if none has failed since the last hand-off that succeeded. */
  get trouble() {
    return this.#failing && { ...this.#failing, pending: this.#store.countPendingHandOffs() };
  }

  /** Hands off the waiting transactions at once, without the rest of the present pause. */
  nudge(): void {
    this.#task.nudge();
  }

  /**
   * Begins the hand-off of a payment that was just charged, so that the supervisor works while this
   * process completes the payment. {@link delivered} then waits up to `waitMs` for the hand-off.
   */
  begin({ state, transactionId }: Attempt, waitMs: number): void {
    if (!isCharged(state)) return;
    this.#fresh.add(transactionId);
    void this.#awaited(transactionId, this.#clock.monotonicMs() + waitMs);
  }

  /**
   * Returns the delivery state of a transaction, after at most `waitMs` for its hand-off and its
   * first send together. A new state is stored in the journal.
   */
  async delivered(transactionId: string, waitMs: number): Promise<DeliveryState> {
    // Answered from memory: reading the row would first write all delayed writes to the disk.
    if (transactionId === this.#sentLast) return "sent";
    // A transaction answered as "sent" must not become "pending" (docs/design.md 5.8).
    const limitMs = this.#perhapsAnswered.has(transactionId)
      ? Math.max(waitMs, ANSWERED_WAIT_MS)
      : waitMs;
    const deadlineMs = this.#clock.monotonicMs() + limitMs;
    const handedOff = this.#accepted(transactionId, deadlineMs);
    const delivered = handedOff && (await within(this.#clock, "hand-off", limitMs, handedOff));
    if (delivered) return delivered;
    const row = this.#store.handOff(transactionId);
    if (!row) return this.#store.archivedDelivery(transactionId) ?? "pending";
    if (!row.isAccepted || row.dropped || row.delivery === "sent") return row.delivery;
    try {
      const left = Math.max(0, Math.round(deadlineMs - this.#clock.monotonicMs()));
      const asked = { transactionId, waitMs: left };
      const { state } = await this.#link.call("transaction-delivery", asked);
      if (!state) {
        // The supervisor accepted the transaction, but its present database does not have it.
        this.#log.error({ transactionId, alarm: "hand-off" }, "the supervisor lost a transaction");
        return row.delivery;
      }
      this.#store.setDelivery(transactionId, state, this.#clock.now());
      return state;
    } catch (error) {
      this.#log.debug({ transactionId, err: error }, "the supervisor did not report what was sent");
      return row.delivery;
    }
  }

  close(): Promise<void> {
    this.#parkedTimer?.clear();
    return this.#task.close();
  }

  /**
   * Resolves when the transaction is handed off, with its state at the gateway if the supervisor
   * reported it. Returns undefined when it was handed off already or refused.
   */
  #accepted(transactionId: string, deadlineMs: number) {
    if (!this.#waiting.has(transactionId)) {
      const row = this.#store.handOff(transactionId);
      if (row?.isAccepted !== false || row.isRefused) return undefined;
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
    // No nudge is needed if the hand-off of this transaction has already begun.
    if (!known || !this.#task.isRunning) this.#task.nudge();
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
      if (error instanceof BrokenInvariant) throw error;
      // The row was not changed, so a later process hands the transaction off again.
      if (this.#task.isClosed) return undefined;
      this.#log.error({ err: error, alarm: "journal" }, "the journal failed during a hand-off");
      return RETRY_MAX_MS;
    }
  }

  /**
   * Hands off a batch of transactions. A transaction that fails while a later one succeeds is
   * parked. Resolves with the pause before the next try (ms) if the supervisor is at fault.
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

  /** Starts the timer for parked hand-offs, which are also tried after each sale and each start. */
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
    const text = "the supervisor did not accept a transaction, which is handed off again later";
    this.#log.warn({ transactionId, orderId, reason, retryMs }, text);
    return retryMs;
  }

  #park({ transaction }: PendingHandOff, why: string): void {
    const { transactionId, orderId } = transaction;
    const isNew = this.#store.noteRefusal(transactionId, why, this.#clock.now());
    this.#mayBeParked = true;
    this.#tryParkedLater();
    // Callers that wait for this transaction are answered that its delivery is not known.
    this.#waiting.get(transactionId)?.resolve(undefined);
    this.#waiting.delete(transactionId);
    const text =
      "the supervisor refuses this transaction: the others go on, this one is tried again each " +
      "hour; its log says why";
    const details = { transactionId, orderId, reason: why };
    if (isNew) this.#log.error({ ...details, alarm: "hand-off-refused" }, text);
    else this.#log.warn(details, text);
  }

  async #handOffOne(row: PendingHandOff): Promise<Fault | undefined> {
    const { what, transaction } = row;
    const { transactionId, orderId } = transaction;
    const isFirst = this.#fresh.delete(transactionId);
    let answer: DeliveryState | undefined;
    try {
      answer = await (what === "reversed"
        ? this.#withdrawThere(transaction, isFirst)
        : this.#storeThere(row, isFirst));
    } catch (error) {
      return faultOf(error);
    }
    this.#task.succeeded();
    this.#failing = null;
    const state = what === "charged" ? answer : undefined;
    // An operator dropped the item, or the supervisor is of an older version.
    if (row.wasWithdrawn && state === "closed") {
      return { by: "row", why: "it is charged after all, and the supervisor keeps it closed" };
    }
    if (state === "sent") this.#sentLast = transactionId;
    if (what === "charged") {
      this.#store.noteAccepted(transactionId, state ?? "pending", this.#clock.now());
    } else this.#noteWithdrawn(transaction, answer);
    const waiting = this.#waiting.get(transactionId);
    this.#waiting.delete(transactionId);
    waiting?.resolve(state);
    // The event loop runs once more first, so that the kiosk's answer is sent before the log line.
    if (waiting) await new Promise((resolve) => setImmediate(resolve));
    const text = "the transaction was handed off to the supervisor";
    this.#log.info({ transactionId, orderId, what }, text);
    return undefined;
  }

  /**
   * Resolves when the supervisor has stored the transaction, with its state after the first send to
   * the gateway. undefined: nobody waits for this state, no earlier process may have answered the
   * transaction as sent and it was never withdrawn, or the supervisor is of an older version.
   */
  async #storeThere({ transaction, wasWithdrawn }: PendingHandOff, isFirst: boolean) {
    const { transactionId } = transaction;
    const now = this.#clock.monotonicMs();
    const ask = this.#perhapsAnswered.has(transactionId) || wasWithdrawn ? now : undefined;
    const deadlineMs = this.#waiting.get(transactionId)?.deadlineMs ?? ask;
    const leftMs = deadlineMs === undefined ? undefined : deadlineMs - now;
    const wait = leftMs === undefined ? {} : { waitMs: Math.max(0, Math.round(leftMs)) };
    const again = wasWithdrawn ? { wasWithdrawn } : {};
    const request = { transaction, isFirst, ...wait, ...again };
    return (await this.#link.call("store-transaction", request)).state;
  }

  /** Closes an unsent sale at the supervisor; resolves with "sent" if the gateway may have it. */
  async #withdrawThere(transaction: Transaction, isFirst: boolean) {
    return (await this.#link.call("withdraw-transaction", { transaction, isFirst })).outcome;
  }

  /** Notes a reversal the supervisor knows; alarms a sent sale (docs/rules/27-both-sides.md). */
  #noteWithdrawn({ transactionId, orderId }: Transaction, outcome?: DeliveryState): void {
    if (!this.#store.acceptWithdrawal(transactionId)) return;
    if (outcome === "closed") {
      this.#store.setDelivery(transactionId, "closed", this.#clock.now());
      return;
    }
    this.#log.error(
      { transactionId, orderId, alarm: "reversed-after-sending" },
      "the sale is not charged any more, but the gateway has or may have it: return it there",
    );
  }
}

/** Why a transaction was not accepted. "unclear": the supervisor or the transaction is at fault. */
interface Fault {
  readonly by: "supervisor" | "row" | "unclear";
  readonly why: string;
}

/** The HTTP statuses with which the supervisor refuses a transaction because of its content. */
const ROW_STATUSES: readonly (number | undefined)[] = [400, 413, 422];

function faultOf(error: unknown): Fault {
  const why = (error as Error).message;
  if (!(error instanceof IpcError) || error.failure !== "refused") return { by: "supervisor", why };
  if (error.status === 500) return { by: "unclear", why };
  const isRow = error.status === undefined || ROW_STATUSES.includes(error.status);
  return { by: isRow ? "row" : "supervisor", why };
}

export type RefusedHandOffs = ReturnType<typeof refusedHandOffs>;

/** Carries out operators' decisions about refused hand-offs (docs/rules/29-supervisor-loss.md). */
export function refusedHandOffs(rows: RefusedRows, handOff: HandOff, clock: Clock, log: AlarmLog) {
  return {
    /** Returns the transactions that the supervisor refuses, oldest first; `after`: a position. */
    list(after: number, limit: number): RefusedHandOff[] {
      return rows.list(after, limit);
    },

    /** Hands off a transaction that was refused or dropped. Returns false if the id is unknown. */
    requeue(transactionId: string): boolean {
      if (!rows.requeue(transactionId, clock.now())) return false;
      handOff.nudge();
      return true;
    },

    /** Drops a refused transaction and stores the note. Returns false if the id is unknown. */
    drop(transactionId: string, note: string): boolean {
      const dropped = rows.drop(transactionId, maskPansInText(note), clock.now());
      if (!dropped) return false;
      log.warn({ transactionId }, "an operator dropped a hand-off that the supervisor refuses");
      if (dropped === "reversal") {
        log.error(
          { transactionId, alarm: "reversed-after-sending" },
          "the sale is not charged any more, the supervisor does not know: the gateway may have it",
        );
      }
      return true;
    },
  };
}
