import type { Transaction } from "../../shared/transaction.ts";
import type { Verdict } from "./faults.ts";
import type { LookupAnswer } from "./lookup.ts";
import type { OperationRequest } from "./operation-request.ts";
import type { OrderFinding } from "./order-lookup.ts";

/**
 * The payment gateway, as the outbox sees it:
 *
 *   transaction ─ order-request.ts ─ order-writer.ts ─ http-transport.ts ─▶ gateway
 *                 (fields, lengths)   (template)        (once, limits)         │
 *   verdict ◀──── faults.ts ◀──────── soap-answer.ts ◀─────────────────────────┘
 */
export interface Gateway {
  /**
   * Sends the order of one transaction, once. Resolves with what became of it, never rejects for
   * anything the gateway or the transaction can do. An aborted signal ends the try at once.
   */
  generate(transaction: Transaction, signal: AbortSignal): Promise<GatewayReply>;
  /** Looks the order of one transaction up: whether the gateway has it. Resolves always. */
  findOrder(transaction: Transaction, signal: AbortSignal): Promise<OrderFinding>;
  close(): void;
}

export interface GatewayReply {
  readonly verdict: Verdict;
  /** Cuts, changes and omissions in the request, in words for people. */
  readonly notes: readonly string[];
}

/** The operations on an order that the gateway has. */
export interface GatewayOperations {
  /**
   * Sends confirm, cancel or card, once, and never again by itself (docs/rules/07-returns.md).
   * Resolves with what became of it, as {@link Gateway.generate} does.
   */
  operate(request: OperationRequest, signal: AbortSignal): Promise<Verdict>;
  /** The v3 lookup, by the id of a notification or by the gateway's own number. */
  lookUp(id: string, signal: AbortSignal): Promise<LookupAnswer>;
}
