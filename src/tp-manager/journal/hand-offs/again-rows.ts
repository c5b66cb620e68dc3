import type { DeliveryState, ResyncItem } from "../../../shared/ipc/contract.ts";
import { noDetails, type Transaction } from "../../../shared/transaction.ts";
import { readJson } from "../attempt-columns.ts";
import { type Row, rows } from "../database/statements.ts";

/** A page of all hand-offs there ever were, and where the next page begins. */
export interface AgainPage {
  readonly items: readonly ResyncItem[];
  readonly archivedAfter: number;
  readonly handOffAfter: number;
  /** This is the last page. */
  readonly last: boolean;
}

const texts = {
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
};

/**
 * Resync of a supervisor whose database was lost (docs/rules/17-loss.md): everything that it has
 * ever had or may have had, the archive first, since a row without an acknowledgement may have been
 * stored and sent by the lost database. A row that an operator dropped was refused, and would be
 * refused again; a sale whose reversal alone is refused was taken.
 */
export class AgainRows extends rows("again", texts) {
  /** Begins a resync, or begins it anew. */
  begin(): void {
    this.sql.begin.run();
  }

  get isUnderWay(): boolean {
    return this.sql.where.get() !== undefined;
  }

  /** The next page; undefined when no resync is under way. */
  page(limit: number): AgainPage | undefined {
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

  /** The supervisor has the page. */
  taken({ archivedAfter, handOffAfter, last }: AgainPage): void {
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

/** A transaction of the archive, without the members that were erased. */
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
