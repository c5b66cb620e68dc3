import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { ModelGateway } from "./model-gateway.ts";
import { journalPath } from "./processes.ts";

/** What the two databases and the gateway say of one attempt. */
interface Knowledge {
  readonly order: string;
  /** As the journal has it; "charged" and "reversed" as the supervisor knows it too. */
  readonly phase: string;
}

const attemptsSql = "SELECT transaction_id AS id, order_id AS of, phase FROM attempt";
const itemsSql = `SELECT transaction_id AS id, order_id AS of,
  iif(reversed = 1, 'reversed', 'charged') AS phase FROM transactions JOIN outbox
  USING (transaction_id)`;

/**
 * What was known of the orders before a database was lost or put back, and of which nothing is left
 * in either database or at the gateway. Nobody can know that any more (docs/rules/17-loss.md).
 */
export class LostKnowledge {
  readonly #folder: string;
  readonly #gateway: ModelGateway;
  /** Orders that may be answered otherwise from then on: a part of their data is gone. */
  readonly changed = new Set<string>();
  /** Orders that may have been charged, and no database and no gateway says so any more. */
  readonly #forgotten = new Set<string>();
  /** Of these, what the terminal's last sale has shown to the connector since, in minor units. */
  readonly #known = new Map<string, number>();

  constructor(folder: string, gateway: ModelGateway) {
    this.#folder = folder;
    this.#gateway = gateway;
  }

  /** Compares what is known before and after `harm`. Nothing runs meanwhile. */
  through(harm: () => void): void {
    const before = this.#read();
    // What was seen is in the journal, which may be the one that is gone.
    this.#known.clear();
    harm();
    const after = this.#read();
    for (const [id, { order, phase }] of before) {
      const now = after.get(id);
      if (now?.phase === phase) continue;
      this.changed.add(order);
      const isAtGateway = this.#gateway.orders.some(({ orderId }) => orderId === order);
      const isKnown = isAtGateway || (now !== undefined && now.phase !== "not-charged");
      if (phase !== "not-charged" && !isKnown) this.#forgotten.add(order);
    }
  }

  /** Before a payment or an end of day the connector has read the terminal's last sale. */
  hasRead(order: string, balanceMinor: number): void {
    if (this.#forgotten.has(order)) this.#known.set(order, balanceMinor);
  }

  /** Nobody can know that the order was paid, when it is to be paid for this amount. */
  isBeyond(order: string, amountMinor: number | undefined): boolean {
    return this.#forgotten.has(order) && this.#known.get(order) !== amountMinor;
  }

  #read(): Map<string, Knowledge> {
    const known = new Map(rows(journalPath(this.#folder), attemptsSql));
    for (const [id, item] of rows(join(this.#folder, "supervisor.db"), itemsSql)) {
      if (item.phase === "reversed" || !known.has(id)) known.set(id, item);
    }
    return known;
  }
}

/** Returns no rows of a database that is gone, empty, or without its first table. */
function rows(path: string, sql: string): Array<[string, Knowledge]> {
  if (!existsSync(path) || statSync(path).size === 0) return [];
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database
      .prepare(sql)
      .all()
      .map((row) => [String(row["id"]), { order: String(row["of"]), phase: String(row["phase"]) }]);
  } catch {
    return [];
  } finally {
    database.close();
  }
}
