import type { DeliveryState } from "../../shared/ipc/contract.ts";
import { type Currency, majorOf } from "../../shared/money.ts";
import type { ListedAttempt, ListPage } from "../attempts/attempt-store.ts";
import { ARCHIVED, type KeptEnd, returnedOfKept, stateOfKept } from "../attempts/kept-end.ts";
import type { Attempt, PaymentRequest } from "../attempts/payment.ts";
import type { KeptLedger } from "../attempts/reconciliation.ts";
import { type Listings, listings, phaseIn } from "./attempt-columns.ts";
import type { Row, Statement, Statements } from "./statements.ts";

/** The facts that stay of an attempt beside its order, amount and ids. */
export interface Kept {
  /** Only where an end of day may still be compared with it (docs/rules/18-totals.md). */
  readonly ledger?: KeptLedger;
  /** Whole: a currency that is abolished one day must still be readable. */
  readonly currency: Currency;
  readonly end: KeptEnd;
}

const texts = {
  holds: "SELECT 1 FROM archived_order WHERE order_id = ? LIMIT 1",
  ofOrder: "SELECT * FROM archived_order WHERE order_id = ? ORDER BY number",
  startOf: "SELECT started_at_ms FROM archived_order WHERE rowid = ?",
  delivery: "SELECT delivery FROM archived_order WHERE transaction_id = ?",
  noteReturn: `UPDATE archived_order SET kept = json_set(kept, '$.end.returnedMinor', ?1)
    WHERE transaction_id = ?2
      AND ${phaseIn(({ gateway }) => gateway === "begin", "json_extract(kept, '$.end.phase')")}
      AND json_extract(kept, '$.end.returnedMinor') < ?1`,
};

/** `position` is the order in which they were put away. */
const listed = listings(
  "archived_order",
  "archived_status",
  (page) => `SELECT archived_order.*, page.position AS position
    FROM (${page}) AS page CROSS JOIN archived_order ON archived_order.rowid = page.position`,
);

/** The journal's answers about orders that were put away: the truth, without its details. */
export class ArchivedRows {
  readonly #sql: Record<keyof typeof texts, Statement>;
  readonly #listed: Listings<Statement>;

  constructor(statements: Statements) {
    this.#sql = statements.prepare("archived", texts);
    this.#listed = statements.prepare("archived listed", listed);
  }

  ofOrder(orderId: string): Attempt[] {
    // Asked twice for each new order, of which hardly any is here.
    if (!this.#sql.holds.kept(orderId)) return [];
    return this.#sql.ofOrder.all(orderId).map(attemptOf);
  }

  delivery(transactionId: string): DeliveryState | null {
    return (this.#sql.delivery.get(transactionId)?.["delivery"] ?? null) as DeliveryState | null;
  }

  list(page: ListPage): ListedAttempt[] {
    // A page that is full of newer ones: to begin a listing costs as much as ten of its rows.
    if (page.limit === 0) return [];
    return this.#rowsOf(page).map((row) => ({
      attempt: attemptOf(row),
      delivery: row["delivery"] as DeliveryState | null,
      position: Number(row["position"]),
    }));
  }

  #rowsOf({ sinceMs, untilMs, status, limit, before }: ListPage): Row[] {
    const end = before ?? Number.MAX_SAFE_INTEGER;
    const start = this.#sql.startOf.get(end)?.["started_at_ms"];
    const sql = this.#listed[status ?? "all"];
    if (start !== undefined) return sql.all(start, end, sinceMs, limit);
    return sql.all(untilMs ?? Number.MAX_SAFE_INTEGER, 0, sinceMs, limit);
  }

  /** Money of an archived order went back; sums never shrink. */
  noteReturn(transactionId: string, returnedMinor: number): void {
    this.#sql.noteReturn.run(returnedMinor, transactionId);
  }
}

function attemptOf(row: Row): Attempt {
  const { currency, end } = JSON.parse(String(row["kept"])) as Kept;
  const amountMinor = Number(row["amount_minor"]);
  const returnedMinor = returnedOfKept(end);
  const request: PaymentRequest = {
    orderId: String(row["order_id"]),
    generatedId: row["generated_id"] === 1,
    amountMinor,
    currency,
    echo: { amount: majorOf(amountMinor, currency) },
    cart: [],
    customerEmail: null,
    customData: {},
    delivery: null,
    warnings: [ARCHIVED],
  };
  return {
    transactionId: String(row["transaction_id"]),
    number: Number(row["number"]),
    request,
    state: stateOfKept(end, currency),
    startedAtMs: Number(row["started_at_ms"]),
    endedAtMs: Number(row["ended_at_ms"]),
    baseline: null,
    ticket: "",
    returnedMinor,
    returnedSome: returnedMinor > 0,
    openReturn: null,
  };
}
