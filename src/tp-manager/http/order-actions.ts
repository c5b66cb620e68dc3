import type { GatewayState } from "../../shared/ipc/contract.ts";
import type { Attempt } from "../attempts/payment.ts";
import { rowOf } from "../attempts/phase-table.ts";

/** The actions that an operator may take on a payment, in the order of the console's buttons. */
export const orderActions = ["reverse", "capture", "cancel", "refund", "settle"] as const;
type OrderAction = (typeof orderActions)[number];

export const pathOfAction: Readonly<Record<OrderAction, string>> = {
  reverse: "/reversal",
  capture: "/gateway/confirm",
  cancel: "/gateway/cancel",
  refund: "/gateway/refund",
  settle: "/payment/{orderId}/settle",
};

/**
 * Returns the actions that an order's phase allows; the call of each action checks again.
 * `gatewayState` undefined: the gateway never got the order. `refused`: actions that the terminal,
 * or what it may still do, rules out.
 */
export function actionsOf(
  attempt: Attempt,
  refused: { readonly reversal: boolean; readonly settlement: boolean },
  gatewayState: GatewayState | undefined,
): OrderAction[] {
  const row = rowOf(attempt);
  const isWhole = !attempt.openReturn && !attempt.returnedSome;
  const allowed: Record<OrderAction, boolean> = {
    reverse: row.reversal === "begin" && !refused.reversal,
    capture: row.gateway === "begin" && isWhole && gatewayState === "authorized",
    cancel: row.gateway === "begin" && isWhole,
    refund: row.gateway === "begin",
    settle: !refused.settlement,
  };
  return orderActions.filter((act) => allowed[act]);
}
