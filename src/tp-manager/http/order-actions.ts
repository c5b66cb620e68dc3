import type { GatewayState } from "../../shared/ipc/contract.ts";
import type { Attempt } from "../attempts/payment.ts";
import { rowOf } from "../attempts/phase-table.ts";

/** The actions that may follow a payment, in the order of the console's buttons. */
export const orderActions = ["reverse", "capture", "cancel", "refund", "settle"] as const;
type OrderAction = (typeof orderActions)[number];

/** The path of the call that carries out each action. */
const paths: Readonly<Record<OrderAction, string>> = {
  reverse: "/reversal",
  capture: "/gateway/confirm",
  cancel: "/gateway/cancel",
  refund: "/gateway/refund",
  settle: "/payment/{orderId}/settle",
};

interface Circumstances {
  /** Whether the terminal cannot reverse. */
  readonly lacksReversal: boolean;
  /** The order's state at the gateway; undefined: the gateway never got the order. */
  readonly gatewayState: GatewayState | undefined;
}

/** Returns the actions that an order's phase allows; each call checks again. */
export function actionsOf(
  attempt: Attempt,
  { lacksReversal, gatewayState }: Circumstances,
): ReadonlyArray<{ readonly act: OrderAction; readonly path: string }> {
  const row = rowOf(attempt);
  const isWhole = !attempt.openReturn && !attempt.returnedSome;
  const allowed: Record<OrderAction, boolean> = {
    reverse: row.reversal === "begin" && !lacksReversal,
    capture: row.gateway === "begin" && isWhole && gatewayState === "authorized",
    cancel: row.gateway === "begin" && isWhole,
    refund: row.gateway === "begin",
    settle: row.settle.length > 0,
  };
  return orderActions.filter((act) => allowed[act]).map((act) => ({ act, path: paths[act] }));
}
