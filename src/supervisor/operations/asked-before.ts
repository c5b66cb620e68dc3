import type { RequestOf, ResponseOf, supervisorMessages } from "../../shared/ipc/contract.ts";
import type { OperationStore } from "./operation-store.ts";

type Messages = typeof supervisorMessages;
type Repeated = ResponseOf<Messages, "gateway-operation">["repeats"];
type Target = RequestOf<Messages, "gateway-key">["target"];

/** The losses of this database (docs/design.md 3.17). */
export interface Losses {
  /** Something of this moment may be missing here. */
  mayLack(atMs: number): boolean;
  /** Every transaction that was ever handed over is here. */
  readonly isWhole: boolean;
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * The refund of the last day that a refund repeats; null: of that day not everything is known here.
 * undefined: none, or the caller means another one (docs/design.md 3.7).
 */
export function repeatedBy(
  request: RequestOf<Messages, "gateway-operation">,
  nowMs: number,
  store: OperationStore,
  losses: Losses,
): Repeated {
  if (request.kind !== "refund" || !request.unlessRepeated) return undefined;
  const { transactionPublicId, amountMinor } = request;
  const sinceMs = nowMs - DAY_MS;
  const equal = store.refundSince(transactionPublicId, amountMinor, sinceMs);
  if (equal) return equal;
  const chargedAtMs = store.ownerOf(transactionPublicId)?.approvedAtMs ?? sinceMs;
  return losses.mayLack(Math.max(sinceMs, chargedAtMs)) ? null : undefined;
}

/**
 * An operation that is not known here may have been asked for all the same: this database was lost
 * after the order was charged.
 */
export function mayBeLost(target: Target, store: OperationStore, losses: Losses): boolean {
  const ours =
    "orderId" in target
      ? store.transactionsOf(target.orderId)
      : [store.ownerOf(target.transactionPublicId.toUpperCase())];
  const chargedAtMs = ours.map((one) => one?.approvedAtMs ?? 0);
  return losses.mayLack(Math.min(...(chargedAtMs.length > 0 ? chargedAtMs : [0])));
}
