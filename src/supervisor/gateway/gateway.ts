import type { Transaction } from "../../shared/transaction.ts";
import type { Verdict } from "./faults.ts";

/**
 * The payment gateway, as the outbox sees it:
 *
 *   transaction ─ order-request.ts ─ soap-writer.ts ─ http-transport.ts ─▶ gateway
 *                 (fields, lengths)   (WSDL)           (once, limits)         │
 *   verdict ◀──── faults.ts ◀──────── soap-answer.ts ◀────────────────────────┘
 */
export interface Gateway {
  /** Loads what the first order needs. Rejects when the installation is broken. */
  ready(): Promise<unknown>;
  /**
   * Sends the order of one transaction, once. Resolves with what became of it, never rejects for
   * anything the gateway or the transaction can do. An aborted signal ends the try at once.
   */
  generate(transaction: Transaction, signal: AbortSignal): Promise<GatewayReply>;
  close(): void;
}

export interface GatewayReply {
  readonly verdict: Verdict;
  /** What was cut, changed or left out of the request, for people. */
  readonly notes: readonly string[];
}
