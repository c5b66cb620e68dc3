import { invariant } from "../../shared/invariant.ts";
import type { DeliveryState, ResyncItem } from "../../shared/ipc/contract.ts";
import { noDetails, type Transaction } from "../../shared/transaction.ts";
import { readJson } from "./attempt-columns.ts";
import { type Row, rows } from "./database/statements.ts";
import type { Emit, EventRows } from "./event-rows.ts";

/** News for the supervisor: a transaction was charged, or a charged transaction was reversed. */
export type PendingHandOff = ReturnType<HandOffRows["pendingHandOffs"]>[number];

/**
 * Stores charged transactions and what the supervisor and the gateway have of them. The commit that
 * makes an attempt charged also writes its row here.
 */
export class HandOffRows extends rows("handOffs", {
  // A sale that an operator withdrew is not handed off again, so the other columns stay.
  add: `INSERT INTO hand_off (transaction_id, body) VALUES (?, ?)
    ON CONFLICT (transaction_id) DO UPDATE SET body = excluded.body`,
  // The supervisor never had a hand-off that an operator dropped, so it needs no withdrawal.
  withdraw: `UPDATE hand_off SET withdrawn = iif(acknowledged = 1 AND refused IS NOT NULL, 2, 1)
    WHERE transaction_id = ?`,
  read: "SELECT * FROM hand_off WHERE transaction_id = ?",
  archived: "SELECT delivery FROM archived_order WHERE transaction_id = ?",
  pending: `SELECT body, withdrawn FROM hand_off WHERE (acknowledged = 0 OR withdrawn = 1)
      AND (set_aside_ms IS NULL OR set_aside_ms <= ? OR set_aside_ms > ?)
    ORDER BY id LIMIT ?`,
  oldestUnacknowledged: `SELECT transaction_id FROM hand_off
    WHERE (acknowledged = 0 OR withdrawn = 1) AND set_aside_ms IS NULL ORDER BY id LIMIT ?`,
  countPending: "SELECT count(*) AS n FROM hand_off WHERE acknowledged = 0 OR withdrawn = 1",
  countRefused: `SELECT count(*) AS n FROM hand_off WHERE (acknowledged = 0 OR withdrawn = 1)
    AND set_aside_ms IS NOT NULL`,
  standingAtGateway: `SELECT order_id FROM hand_off JOIN attempt USING (transaction_id)
    WHERE withdrawn = 2 AND delivery <> 'closed' AND returned_some = 0 AND ended_at_ms >= ?
      AND NOT EXISTS (SELECT 1 FROM seen WHERE kind = 'return' AND item = order_id)
    ORDER BY hand_off.id LIMIT ?`,
  acknowledge: `UPDATE hand_off SET acknowledged = 1, set_aside_ms = NULL, refused = NULL
    WHERE transaction_id = ?`,
  acknowledgeWithdrawal: `UPDATE hand_off SET acknowledged = 1, withdrawn = 2, set_aside_ms = NULL,
      refused = NULL
    WHERE transaction_id = ?`,
  refused: "SELECT refused FROM hand_off WHERE transaction_id = ?",
  noteRefusal: "UPDATE hand_off SET set_aside_ms = ?, refused = ? WHERE transaction_id = ?",
  setDelivery: "UPDATE hand_off SET delivery = ?1 WHERE transaction_id = ?2 AND delivery <> ?1",
  orderOf: "SELECT order_id FROM attempt WHERE transaction_id = ?",
  undelivered: `SELECT transaction_id FROM hand_off
    WHERE acknowledged = 1 AND delivery IN ('pending', 'parked') AND delivery = ?
    ORDER BY id DESC LIMIT ?`,
})<{ events: EventRows }> {
  /** The deliveries of hand-offs whose acknowledgement is not yet on disk. */
  readonly #unwritten = new Map<string, DeliveryState>();
  /** Adds writes to the commit that notes an acknowledgement. */
  alsoWrite: () => void = () => {};

  /** Adds a hand-off. Must be called inside the transaction that makes the attempt charged. */
  add(transactionId: string, handOff: Transaction): void {
    this.sql.add.run(transactionId, JSON.stringify(handOff));
  }

  /** Withdraws a hand-off. Must be called inside the transaction that makes it reversed. */
  withdraw(transactionId: string): void {
    this.sql.withdraw.run(transactionId);
  }

  /** Returns the hand-off of a charged transaction; undefined: there is none, or it is archived. */
  handOff(transactionId: string) {
    const row = this.sql.read.get(transactionId);
    if (!row) return undefined;
    // Acknowledgements not on disk count too, because an answer may have said "sent" already.
    const unwritten = this.#unwritten.get(transactionId);
    // If only the reversal of the row was refused, the supervisor has accepted the sale.
    const isDropped =
      row["acknowledged"] === 1 && row["refused"] !== null && row["withdrawn"] !== 1;
    return {
      // Parsed only when it is read, because most callers need the other members.
      get transaction(): Transaction {
        return readJson(row["body"]);
      },
      acknowledged: unwritten !== undefined || row["acknowledged"] === 1,
      /** Whether the supervisor refused it last, so that an answer does not wait for it. */
      isRefused: unwritten === undefined && row["set_aside_ms"] !== null,
      /** Whether an operator dropped the hand-off, so that the supervisor never had it. */
      dropped: unwritten === undefined && isDropped,
      delivery: unwritten ?? (row["delivery"] as DeliveryState),
    };
  }

  /** Returns the delivery state of an archived transaction; null when it is not archived. */
  archivedDelivery(transactionId: string): DeliveryState | null {
    return (this.sql.archived.get(transactionId)?.["delivery"] ?? null) as DeliveryState | null;
  }

  /**
   * Returns at most `limit` hand-offs that the supervisor has not acknowledged, oldest first. Those
   * refused between `refusedMs` and now are left out; a time after now counts as old, because the
   * wall clock may be set back.
   */
  pendingHandOffs(limit: number, refusedMs: number, nowMs: number) {
    // Throws if an acknowledgement cannot be written, as its row would be handed off for ever.
    this.statements.settle();
    return this.sql.pending.all(refusedMs, nowMs, limit).map((row) => ({
      what: row["withdrawn"] === 1 ? ("reversed" as const) : ("charged" as const),
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
   * Returns orders that ended uncharged, are at the gateway and wait for an operator, oldest first.
   */
  standingAtGateway(sinceMs: number, limit: number): string[] {
    return this.sql.standingAtGateway.all(sinceMs, limit).map((row) => String(row["order_id"]));
  }

  /**
   * Notes that the supervisor has the transaction, whose state at the gateway is `delivery`. The
   * note is written with the next commit, within a second (docs/design.md 1.3), because the
   * supervisor can repeat it.
   */
  acknowledgeHandOff(transactionId: string, delivery: DeliveryState, atMs: number): void {
    this.#unwritten.set(transactionId, delivery);
    const write = (emit: Emit): void => {
      // The row changes once, because an index has "acknowledged and pending". If an operator
      // dropped the hand-off before this answer came, the supervisor has the transaction all the
      // same.
      this.#setDelivery(transactionId, delivery, emit, atMs);
      this.sql.acknowledge.run(transactionId);
      this.alsoWrite();
    };
    this.parts.events.commitLater(write, () => this.#unwritten.delete(transactionId));
  }

  acknowledgeWithdrawal(transactionId: string): void {
    this.sql.acknowledgeWithdrawal.run(transactionId);
  }

  /** Notes that the supervisor refuses a hand-off, so that others go first. true: first time. */
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

  /** Returns transaction ids that are neither acknowledged nor refused, the oldest first. */
  oldestUnacknowledged(limit: number): string[] {
    return this.sql.oldestUnacknowledged.all(limit).map((row) => String(row["transaction_id"]));
  }

  /** Returns ids that the supervisor has and the gateway lacks: pending first, then by newest. */
  undelivered(limit: number): string[] {
    const waiting = this.sql.undelivered.all("pending", limit);
    const parked = this.sql.undelivered.all("parked", limit - waiting.length);
    return [...waiting, ...parked].map((row) => String(row["transaction_id"]));
  }
}

/** A page of all hand-offs there ever were, with the position at which the next page begins. */
export type ResyncPage = NonNullable<ReturnType<ResyncRows["page"]>>;

/**
 * The resync of a supervisor whose database was lost (docs/rules/29-supervisor-loss.md). It sends
 * everything that the supervisor has had or may have had, the archive first: the lost database may
 * also have stored and sent rows that it did not acknowledge. A row that an operator dropped is
 * left out, because the supervisor had refused it; a sale whose reversal alone was refused stays.
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
  /** Begins a resync from its first page, even if one is under way. */
  begin(): void {
    this.sql.begin.run();
  }

  get isUnderWay(): boolean {
    return this.sql.where.get() !== undefined;
  }

  /** Returns the next page; undefined when no resync is under way. */
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

  /** Notes that the supervisor has the page. */
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
  };
}

/** Returns an archived transaction without the members that the archive erased. */
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
