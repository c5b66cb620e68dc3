import { AppError } from "../../shared/catalog/errors.ts";
import type { GatewayOperation, SupervisorAnswer } from "../../shared/ipc/contract.ts";
import { isoTime } from "../../shared/time.ts";
import { invalid } from "../attempts/failures.ts";
import { type Attempt, returnableMinorOf } from "../attempts/payment.ts";

/** The members that show whether a repeated request means the same operation. */
export interface RequestKey {
  readonly idempotencyKey: string | undefined;
  /** The whole request as text: an idempotency key may be used again only for an equal request. */
  readonly asked: string;
  /** Whether the caller wants a further refund even if it equals one of the last 24 hours. */
  readonly again: boolean;
}

/** Runs tasks with the same key one after the other, in the order of their calls. */
export class InOrder {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).catch(() => {}).then(work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}

/** Returns the error for a repeated refund; null: a lost database may have had the first refund. */
export function repeated(
  equal: Pick<
    GatewayOperation,
    "operationId" | "transactionPublicId" | "state" | "askedAtMs"
  > | null,
): AppError {
  if (!equal) {
    const lost = "supervisor.db was lost since the order was charged, and perhaps this refund too";
    return new AppError("REFUND_REPEATED", `${lost}.`);
  }
  const { operationId, transactionPublicId, state, askedAtMs } = equal;
  return new AppError("REFUND_REPEATED", undefined, {
    details: { operationId, transactionPublicId, state, askedAt: isoTime(askedAtMs) },
  });
}

/** The supervisor's answer about an operation, with how much of its order was paid back. */
export type OperationResult = SupervisorAnswer<"gateway-operation">;
export type Resolved = Extract<SupervisorAnswer<"gateway-resolve">, { found: true }>;

/** Returns the minor units to return (docs/rules/35-gateway-returns.md). Throws REQUEST_INVALID. */
export function returnMinorOf(
  attempt: Attempt,
  kind: "cancel" | "refund",
  where: Resolved,
  wanted: number | undefined,
): number {
  const charged = returnableMinorOf(attempt);
  const left = charged - Math.max(attempt.returnedMinor, where.returnedMinor ?? 0);
  const amountMinor = kind === "cancel" ? charged : (wanted ?? left);
  if (amountMinor <= left && left > 0) return amountMinor;
  const message = "amount is more than was charged and not yet returned";
  throw invalid("amount", message, { text: message, charged: "yes" });
}

/**
 * Returns by how much, in minor units, an operation raises the journal's sum of what was paid back,
 * because the supervisor may have lost some sums; 0 if the gateway has, or may have, the order more
 * than once. An older supervisor, which reports no sum, knows each order once.
 */
export function addedBy(
  { operation, orderReturnedMinor, isThereOnce }: OperationResult,
  amountMinor: number,
): number {
  const adds = isThereOnce ?? orderReturnedMinor === undefined;
  const isReturn = operation?.state === "done" && operation.kind !== "confirm";
  return isReturn && adds ? amountMinor : 0;
}
