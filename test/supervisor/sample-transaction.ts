import type { DatabaseSync } from "node:sqlite";
import { maskPan } from "../../src/shared/masking/mask.ts";
import { newId } from "../../src/shared/new-id.ts";
import { noDetails, type Transaction } from "../../src/shared/transaction.ts";

/** A transaction with nothing but what every one has. */
export function sampleTransaction(given: Partial<Transaction> = {}): Transaction {
  return {
    transactionId: newId(),
    orderId: "Order_12345",
    origin: "payment",
    amountMinor: 899,
    currency: "EUR",
    exponent: 2,
    approvedAtMs: Date.UTC(2026, 0, 15, 11, 59, 58, 321),
    ...noDetails,
    ...given,
  };
}

export const MASKED_PAN = maskPan("4444330000001111");

/** A transaction with everything. */
export function fullTransaction(given: Partial<Transaction> = {}): Transaction {
  return sampleTransaction({
    maskedPan: MASKED_PAN,
    authorisationNumber: "136967",
    cardName: "VISA",
    receiptNumber: "0042",
    traceNumber: "000123",
    terminalId: "29001234",
    customerEmail: "ada@shop.example",
    customData: { machine: "north & <south>", "slot number": 7, cold: true },
    cart: [
      {
        european_article_numbering: 4_711_892_728_946,
        product_reference: "NF-a1690",
        type: "good",
        quantity: 1,
        name: "Tea",
        unit_price: 8.99,
        discount: 0,
        total_amount: 8.99,
      },
    ],
    ...given,
  });
}

/** A transaction with its place in the queue, as programs of every schema have stored it. */
export function insertAsBefore(database: DatabaseSync, given: Transaction, atMs: number): void {
  const { transactionId, orderId } = given;
  database
    .prepare("INSERT INTO transactions VALUES (?, ?, ?, ?)")
    .run(transactionId, orderId, atMs, JSON.stringify(given));
  database
    .prepare(`INSERT INTO outbox (transaction_id, queued_at_ms, next_try_at_ms, delayed_at_ms)
      VALUES (?1, ?2, ?2, ?2)`)
    .run(transactionId, atMs);
}
