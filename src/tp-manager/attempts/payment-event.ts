import type { EventData } from "./event-table.ts";
import { type Attempt, type AttemptState, chargedOf, returnOf } from "./payment.ts";

/** An attempt as `GET /events` tells it. Two attempts with equal events look the same outside. */
export function paymentEventOf(attempt: Attempt): EventData<"payment"> {
  const { request, state } = attempt;
  const returned = state.phase === "charged" && returnOf(attempt) === "all";
  return {
    orderId: request.orderId,
    transactionId: attempt.transactionId,
    attempt: attempt.number,
    state: returned ? "reversed" : stateOf(state),
    charged: returned ? "no" : chargedOf(state),
    error: state.phase === "not-charged" ? state.outcome.error : null,
    amountMinor: request.amountMinor,
    currency: request.currency.alpha,
  };
}

function stateOf(state: AttemptState): EventData<"payment">["state"] {
  switch (state.phase) {
    case "sent":
      return state.goods?.decision === null ? "approved" : "running";
    case "not-charged":
      return state.outcome.status;
    case "charged":
    case "in-doubt":
    case "reversing":
    case "reversal-in-doubt":
    case "reversed":
      return state.phase;
  }
}
