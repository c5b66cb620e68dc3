import type { EventData } from "./event-table.ts";
import { type Attempt, type AttemptState, isApproved, isNotCharged, isPaying } from "./payment.ts";
import { chargedMinorOf, rowOf } from "./phase-table.ts";

/** An attempt as `GET /events` tells it. Two attempts with equal events look the same outside. */
export function paymentEventOf(attempt: Attempt): EventData<"payment"> {
  const { request, state } = attempt;
  const { charged, status } = rowOf(attempt);
  return {
    orderId: request.orderId,
    transactionId: attempt.transactionId,
    attempt: attempt.number,
    state: status === "Reversed" ? "reversed" : stateOf(state),
    charged,
    error: isNotCharged(state) ? state.outcome.error : null,
    amountMinor: request.amountMinor,
    chargedAmountMinor: chargedMinorOf(attempt),
    currency: request.currency.alpha,
  };
}

function stateOf(state: AttemptState): EventData<"payment">["state"] {
  if (isPaying(state)) return isApproved(state) ? "approved" : "running";
  return isNotCharged(state) ? state.outcome.status : state.phase;
}
