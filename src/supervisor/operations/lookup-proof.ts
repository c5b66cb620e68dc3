import type { GatewayOperation } from "../../shared/ipc/contract.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { LookedUp } from "../gateway/lookup.ts";

/**
 * The end of an open operation that a lookup proves; null: nothing. A lookup can prove that an
 * operation was carried out, never that it was not: its request may still be under way inside the
 * gateway. The published object has no word for a cancellation (docs/gateway.md 4.6), but a capture
 * proves that no cancellation has been and none can follow: only authorised transactions can be
 * cancelled (docs/design.md 12.16). A refund from before the operation proves nothing of it.
 */
export function provedByLookup(
  open: GatewayOperation,
  looked: LookedUp,
  { owner, refundedMinor: before }: { owner: Transaction | undefined; refundedMinor: number },
): "done" | "refused" | null {
  const { amountMinor, capturedMinor, refundedMinor } = looked;
  if (amountMinor === null || !sumsFit(looked) || (owner && !fitsOwner(looked, owner))) return null;
  const captured = (capturedMinor ?? 0) > 0;
  switch (open.kind) {
    case "confirm":
      return captured ? "done" : null;
    case "cancel":
      return captured ? "refused" : null;
    case "refund": {
      const sum = before + (open.amountMinor ?? amountMinor);
      return (refundedMinor ?? 0) >= Math.min(sum, amountMinor) ? "done" : null;
    }
  }
}

/** No more is captured than was authorised, and no more refunded: else it contradicts itself. */
function sumsFit({ amountMinor, capturedMinor, refundedMinor }: LookedUp): boolean {
  return [capturedMinor, refundedMinor].every((sum) => (sum ?? 0) <= (amountMinor ?? 0));
}

/** docs/rules/21-agree.md: what a lookup names of our order must agree; the rest is not said. */
function fitsOwner(looked: LookedUp, owner: Transaction): boolean {
  const { orderId, transactionId, currency, amountMinor } = looked;
  return (
    (orderId === null || orderId === owner.orderId) &&
    (transactionId === null || transactionId === owner.transactionId) &&
    (currency === null || currency === owner.currency) &&
    (amountMinor === null || amountMinor === owner.amountMinor)
  );
}
