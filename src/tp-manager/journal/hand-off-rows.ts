import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState, ResyncItem } from "../../shared/ipc/contract.ts";
import type { StoreExchange } from "../../shared/store/store-exchange.ts";
import { noDetails, type Transaction } from "../../shared/transaction.ts";
import { readJson } from "./attempt-columns.ts";
import { type Row, rows } from "./database/statements.ts";
import type { Emit, EventRows } from "./event-rows.ts";

/** What the supervisor must learn: a transaction was charged, or a charged one was reversed. */
export type PendingHandOff = ReturnType<HandOffRows["pendingHandOffs"]>[number];

/**
 * Stores each charged transaction, and what the supervisor and the gateway have of it. The commit
 * that makes an attempt charged also writes the transaction's row in this table.
 */
export class HandOffRows extends rows("handOffs", {
  // A withdrawn sale that is charged after all is handed off again and no longer counts as closed:
  // `withdrawn` is -1 from then on (docs/rules/09-handoff.md). Another row keeps its other columns.
  add: `INSERT INTO hand_off (transaction_id, body) VALUES (?, ?)
    ON CONFLICT (transaction_id) DO UPDATE SET body = excluded.body,
      withdrawn = iif(withdrawn > 0, -1, withdrawn),
      delivery = iif(withdrawn > 0 AND delivery = 'closed', 'pending', delivery),
      acknowledged = iif(withdrawn > 0, 0, acknowledged),
      set_aside_ms = iif(withdrawn > 0, NULL, set_aside_ms),
      refused = iif(withdrawn > 0, NULL, refused)`,
  // A hand-off that an operator dropped is not withdrawn: the supervisor never had its sale.
  withdraw: `UPDATE hand_off SET withdrawn = iif(acknowledged = 1 AND refused IS NOT NULL, 2, 1)
    WHERE transaction_id = ?`,
  read: "SELECT * FROM hand_off WHERE transaction_id = ?",
  archived: "SELECT delivery FROM archived_order WHERE transaction_id = ?",
  pending: `SELECT body, withdrawn FROM hand_off WHERE (acknowledged = 0 OR withdrawn = 1)
      AND (set_aside_ms IS NULL OR set_aside_ms <= ? OR set_aside_ms > ?)
    ORDER BY id LIMIT ?`,
  oldestNotAccepted: `SELECT transaction_id FROM hand_off
    WHERE (acknowledged = 0 OR withdrawn = 1) AND set_aside_ms IS NULL ORDER BY id LIMIT ?`,
  countPending: "SELECT count(*) AS n FROM hand_off WHERE acknowledged = 0 OR withdrawn = 1",
  countRefused: `SELECT count(*) AS n FROM hand_off WHERE (acknowledged = 0 OR withdrawn = 1)
    AND set_aside_ms IS NOT NULL`,
  standingAtGateway: `SELECT order_id FROM hand_off JOIN attempt USING (transaction_id)
    WHERE withdrawn = 2 AND delivery <> 'closed' AND returned_some = 0 AND ended_at_ms >= ?
      AND NOT EXISTS (SELECT 1 FROM seen WHERE kind = 'return' AND item = order_id)
    ORDER BY hand_off.id LIMIT ?`,
  accept: `UPDATE hand_off SET acknowledged = 1, set_aside_ms = NULL, refused = NULL
    WHERE transaction_id = ?`,
  // A sale that was charged again while its withdrawal was on the way is still to be handed off.
  acceptWithdrawal: `UPDATE hand_off SET acknowledged = 1, withdrawn = 2, set_aside_ms = NULL,
      refused = NULL
    WHERE transaction_id = ? AND withdrawn > 0`,
  refused: "SELECT refused FROM hand_off WHERE transaction_id = ?",
  noteRefusal: "UPDATE hand_off SET set_aside_ms = ?, refused = ? WHERE transaction_id = ?",
  setDelivery: "UPDATE hand_off SET delivery = ?1 WHERE transaction_id = ?2 AND delivery <> ?1",
  orderOf: "SELECT order_id FROM attempt WHERE transaction_id = ?",
  undelivered: `SELECT transaction_id FROM hand_off
    WHERE acknowledged = 1 AND delivery IN ('pending', 'parked') AND delivery = ?
    ORDER BY id DESC LIMIT ?`,
})<{ events: EventRows }> {
  /** The state at the gateway by transaction, for acceptances that are not on disk yet. */
  readonly #unwritten = new Map<string, DeliveryState>();
  /** Stores the mark of the supervisor's database in the commit of each acceptance. */
  marks: StoreExchange | undefined;

  /** Adds a hand-off. Must be called inside the transaction that makes the attempt charged. */
  add(transactionId: string, handOff: Transaction): void {
    this.sql.add.run(transactionId, JSON.stringify(handOff));
  }

  /** Withdraws a hand-off. Must be called inside the transaction that reverses the attempt. */
  withdraw(transactionId: string): void {
    this.sql.withdraw.run(transactionId);
  }

  /** Returns the hand-off of a transaction; undefined: there was none, or it is archived. */
  handOff(transactionId: string) {
    const row = this.sql.read.get(transactionId);
    if (!row) return undefined;
    // An acceptance that is not yet on disk counts: the kiosk may have been answered "sent".
    const unwritten = this.#unwritten.get(transactionId);
    // A refused row with `withdrawn` 1 had only its reversal refused, not its sale.
    const isDropped =
      row["acknowledged"] === 1 && row["refused"] !== null && row["withdrawn"] !== 1;
    return {
      // The body is parsed only when it is read, because most callers do not need it.
      get transaction(): Transaction {
        return readJson(row["body"]);
      },
      isAccepted: unwritten !== undefined || row["acknowledged"] === 1,
      /** Whether the supervisor refused the hand-off, so that no kiosk's answer waits for it. */
      isRefused: unwritten === undefined && row["set_aside_ms"] !== null,
      dropped: unwritten === undefined && isDropped,
      delivery: unwritten ?? (row["delivery"] as DeliveryState),
    };
  }

  /** Returns an archived transaction's state at the gateway; null: not archived or handed off. */
  archivedDelivery(transactionId: string): DeliveryState | null {
    return (this.sql.archived.get(transactionId)?.["delivery"] ?? null) as DeliveryState | null;
  }

  /**
   * Returns at most `limit` transactions that the supervisor has not accepted, oldest first,
   * without those refused between `refusedMs` and now. A refusal later than now counts as old,
   * because the wall clock may have been set back.
   */
  pendingHandOffs(limit: number, refusedMs: number, nowMs: number) {
    // Throws if a delayed acceptance cannot be written, or its row would be sent for ever.
    this.statements.settle();
    return this.sql.pending.all(refusedMs, nowMs, limit).map((row) => ({
      what: row["withdrawn"] === 1 ? ("reversed" as const) : ("charged" as const),
      wasWithdrawn: row["withdrawn"] === -1,
      transaction: readJson<Transaction>(row["body"]),
    }));
  }

  countPendingHandOffs(): number {
    return Number(this.sql.countPending.get()?.["n"]);
  }

  countRefused(): number {
    return Number(this.sql.countRefused.get()?.["n"]);
  }

  /**
   * Returns the orders whose sale no longer counts (reversed or corrected) but is at the gateway,
   * oldest first, until an operator pays the money back or acknowledges the order.
   */
  standingAtGateway(sinceMs: number, limit: number): string[] {
    return this.sql.standingAtGateway.all(sinceMs, limit).map((row) => String(row["order_id"]));
  }

  /**
   * Notes that the supervisor has the transaction, whose state at the gateway is `delivery`. The
   * note is written with the next commit, within a second (docs/design.md 2.1). If a crash loses
   * the note, the supervisor accepts the transaction again.
   */
  noteAccepted(transactionId: string, delivery: DeliveryState, atMs: number): void {
    this.#unwritten.set(transactionId, delivery);
    const write = (emit: Emit): void => {
      // The delivery is set before the acceptance, so that a sent transaction never enters the
      // index of undelivered rows. Even if an operator has dropped the hand-off meanwhile, the
      // supervisor now has the transaction.
      this.#setDelivery(transactionId, delivery, emit, atMs);
      this.sql.accept.run(transactionId);
      this.marks?.remember();
    };
    this.parts.events.commitLater(write, () => this.#unwritten.delete(transactionId));
  }

  /** Notes that the supervisor knows a withdrawal; false: the sale counts again meanwhile. */
  acceptWithdrawal(transactionId: string): boolean {
    return this.sql.acceptWithdrawal.run(transactionId).changes > 0;
  }

  /** Notes that the supervisor refused a transaction. Returns whether this is the first refusal. */
  noteRefusal(transactionId: string, why: string, atMs: number): boolean {
    const before = this.sql.refused.get(transactionId)?.["refused"];
    this.sql.noteRefusal.run(atMs, why, transactionId);
    return before === null;
  }

  setDelivery(transactionId: string, delivery: DeliveryState, atMs: number): void {
    this.parts.events.commit((emit) => this.#setDelivery(transactionId, delivery, emit, atMs));
  }

  #setDelivery(transactionId: string, delivery: DeliveryState, emit: Emit, atMs: number): void {
    const { changes } = this.sql.setDelivery.run(delivery, transactionId);
    if (changes === 0) return;
    const row = this.sql.orderOf.get(transactionId);
    invariant(row, `attempt ${transactionId} is not in the journal`);
    const orderId = String(row["order_id"]);
    const notificationGatewaySent = delivery === "sent";
    emit("delivery", { orderId, transactionId, delivery, notificationGatewaySent }, atMs);
  }

  /** Returns the oldest transactions that the supervisor neither accepted nor refused. */
  oldestNotAccepted(limit: number): string[] {
    return this.sql.oldestNotAccepted.all(limit).map((row) => String(row["transaction_id"]));
  }

  /** Returns transactions that are not at the gateway: pending before parked ones, newest first. */
  undelivered(limit: number): string[] {
    const waiting = this.sql.undelivered.all("pending", limit);
    const parked = this.sql.undelivered.all("parked", limit - waiting.length);
    return [...waiting, ...parked].map((row) => String(row["transaction_id"]));
  }
}

/** A page of a resync: transactions of any age, and the position of the next page. */
export type ResyncPage = NonNullable<ReturnType<ResyncRows["page"]>>;

/**
 * Stores how far the resync of a supervisor that lost its database has come
 * (docs/rules/29-supervisor-loss.md). Its pages have every transaction that the supervisor may have
 * had, archived ones first; not those that an operator dropped after a refusal.
 */
export class ResyncRows extends rows("resync", {
  begin: `INSERT INTO hand_over_again VALUES (1, 0, 0)
    ON CONFLICT DO UPDATE SET archived_after = 0, hand_off_after = 0`,
  where: "SELECT archived_after, hand_off_after FROM hand_over_again",
  move: "UPDATE hand_over_again SET archived_after = ?, hand_off_after = ?",
  end: "DELETE FROM hand_over_again",
  archived: `SELECT rowid AS position, transaction_id, order_id, amount_minor, currency, delivery,
      ended_at_ms, json_extract(kept, '$.currency.exponent') AS exponent,
      json_extract(kept, '$.end.by') AS charged_by, json_extract(kept, '$.end.phase') AS phase,
      json_extract(kept, '$.end.chargedMinor') AS charged_minor
    FROM archived_order WHERE rowid > ? AND delivery IS NOT NULL ORDER BY rowid LIMIT ?`,
  handOffs: `SELECT id AS position, body, delivery, withdrawn FROM hand_off
    WHERE (refused IS NULL OR withdrawn = 1) AND id > ?
    ORDER BY id LIMIT ?`,
}) {
  /** Begins a resync at its first page, even if one is running. */
  begin(): void {
    this.sql.begin.run();
  }

  get isUnderWay(): boolean {
    return this.sql.where.get() !== undefined;
  }

  /** Returns the next page of the resync; undefined when no resync is under way. */
  page(limit: number) {
    const where = this.sql.where.get();
    if (!where) return undefined;
    const archivedAfter = Number(where["archived_after"]);
    const handOffAfter = Number(where["hand_off_after"]);
    const archived = this.sql.archived.all(archivedAfter, limit);
    const left = limit - archived.length;
    const handOffs = left === 0 ? [] : this.sql.handOffs.all(handOffAfter, left);
    return {
      items: [...archived.map(archivedItem), ...handOffs.map(handedItem)],
      archivedAfter: lastOf(archived, archivedAfter),
      handOffAfter: lastOf(handOffs, handOffAfter),
      last: archived.length + handOffs.length < limit,
    };
  }

  /** Notes that the supervisor has stored a page of the resync. */
  taken({ archivedAfter, handOffAfter, last }: ResyncPage): void {
    if (last) this.sql.end.run();
    else this.sql.move.run(archivedAfter, handOffAfter);
  }
}

function lastOf(rows: readonly Row[], before: number): number {
  return Number(rows.at(-1)?.["position"] ?? before);
}

function handedItem(row: Row): ResyncItem {
  return {
    transaction: readJson<Transaction>(row["body"]),
    state: row["delivery"] as DeliveryState,
    reversed: row["withdrawn"] === 2,
    wasWithdrawn: row["withdrawn"] === -1,
  };
}

/** Returns an archived transaction, without what archiving has erased. */
function archivedItem(row: Row): ResyncItem {
  const transaction: Transaction = {
    transactionId: String(row["transaction_id"]),
    orderId: String(row["order_id"]),
    origin: row["charged_by"] as Transaction["origin"],
    amountMinor: Number(row["charged_minor"] ?? row["amount_minor"]),
    currency: String(row["currency"]),
    exponent: Number(row["exponent"]),
    approvedAtMs: Number(row["ended_at_ms"]),
    ...noDetails,
  };
  const state = row["delivery"] as DeliveryState;
  return { transaction, state, reversed: row["phase"] === "reversed" };
}
