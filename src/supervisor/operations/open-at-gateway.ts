import type { DatabaseSync } from "node:sqlite";
import type { OpenAtGateway } from "../../shared/ipc/contract.ts";
import { copiesOpen } from "../outbox/doubt-columns.ts";
import { operationOf } from "./operation-row.ts";

/**
 * Reads all that a person has to find out at the gateway, of each kind at most `limit`: the
 * operations whose answer was lost, and the orders that may be there more than once
 * (docs/rules/07-returns.md). Both are read by the indexes of what is open.
 */
export function openAtGateway(database: DatabaseSync, limit: number): OpenAtGateway {
  const operations = database
    .prepare(
      `SELECT operation.*, order_id FROM gateway_operations AS operation
       LEFT JOIN gateway_ids USING (transaction_public_id)
       LEFT JOIN transactions USING (transaction_id)
       WHERE state = 'unknown' ORDER BY ended_at_ms LIMIT ?`,
    )
    .all(limit + 1);
  const copies = database
    .prepare(
      `SELECT order_id, transaction_id, orders_possible, state IN ('pending', 'parked') AS waits,
         json_extract(content, '$.amountMinor') AS amount_minor,
         json_extract(content, '$.currency') AS currency,
         json_extract(content, '$.exponent') AS exponent,
         (SELECT json_group_array(transaction_public_id) FROM gateway_ids AS named
           WHERE named.transaction_id = outbox.transaction_id) AS ids
       FROM outbox CROSS JOIN transactions USING (transaction_id)
       WHERE ${copiesOpen} ORDER BY sequence LIMIT ?`,
    )
    .all(limit + 1);
  return {
    operations: operations.slice(0, limit).map((row) => ({
      ...operationOf(row),
      orderId: row["order_id"] as string | null,
      currency: String(row["currency"]),
      exponent: Number(row["exponent"]),
    })),
    copies: copies.slice(0, limit).map((row) => ({
      orderId: String(row["order_id"]),
      transactionId: String(row["transaction_id"]),
      amountMinor: Number(row["amount_minor"]),
      currency: String(row["currency"]),
      exponent: Number(row["exponent"]),
      possibleOrders: Number(row["orders_possible"]),
      transactionPublicIds: JSON.parse(String(row["ids"])) as string[],
      mayBeSent: row["waits"] === 1,
    })),
    more: operations.length > limit || copies.length > limit,
  };
}
