import type { GatewayState } from "../../shared/ipc/contract.ts";
import { type Attempt, returnOf } from "../attempts/payment.ts";
import { rowOf } from "../attempts/phase-table.ts";

/** The acts that may follow a payment, in the order of the console's buttons. */
export const storyActs = ["reverse", "capture", "cancel", "refund", "settle"] as const;
type StoryAct = (typeof storyActs)[number];

/** The call that carries each out. */
const paths: Readonly<Record<StoryAct, string>> = {
  reverse: "/reversal",
  capture: "/gateway/confirm",
  cancel: "/gateway/cancel",
  refund: "/gateway/refund",
  settle: "/payment/{orderId}/settle",
};

interface Circumstances {
  /** The terminal cannot reverse. */
  readonly lacksReversal: boolean;
  /** undefined: the gateway was never given the order. */
  readonly gatewayState: GatewayState | undefined;
}

/** The acts that an order allows by the table of phases; each call judges again. */
export function actsOf(
  attempt: Attempt,
  { lacksReversal, gatewayState }: Circumstances,
): ReadonlyArray<{ readonly act: StoryAct; readonly path: string }> {
  const row = rowOf(attempt);
  const isWhole = returnOf(attempt) === "none";
  const fits: Record<StoryAct, boolean> = {
    reverse: row.reversal === "begin" && !lacksReversal,
    capture: row.gateway === "begin" && isWhole && gatewayState === "authorized",
    cancel: row.gateway === "begin" && isWhole,
    refund: row.gateway === "begin",
    settle: row.settle.length > 0,
  };
  return storyActs.filter((act) => fits[act]).map((act) => ({ act, path: paths[act] }));
}
