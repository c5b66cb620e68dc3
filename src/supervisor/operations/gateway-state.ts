import {
  type GatewayOperation,
  type GatewayState,
  gatewayStateSchema,
} from "../../shared/ipc/contract.ts";
import type { OperationKind } from "../gateway/operation-request.ts";

/** The fields of a verified notification that decide the state of its order at the gateway. */
export interface Notified {
  readonly operation: string;
  readonly status: string;
  /** The amount of a refund; null: the notification names no amount and means the whole. */
  readonly amountMinor: number | null;
}

type Done = Pick<GatewayOperation, "kind" | "amountMinor">;

/** An order's state by notified operation and status; null: unchanged (docs/design.md 12.18). */
const effects = {
  authorization: { ok: "authorized", nok: "declined", cancel: "aborted", waiting: "waiting" },
  capture: { ok: "captured", nok: null, cancel: null, waiting: null },
  cancellation: { ok: "cancelled", nok: null, cancel: null, waiting: null },
  refund: { ok: "refunded", nok: null, cancel: null, waiting: null },
  reject: { ok: "reversed", nok: null, cancel: null, waiting: null },
} as const satisfies Record<string, Record<string, GatewayState | null>>;
type NotifiedOperation = keyof typeof effects;

const ownEffects: Readonly<Record<OperationKind, GatewayState>> = {
  confirm: "captured",
  cancel: "cancelled",
  refund: "refunded",
};

/** The gateway's name, in notifications, of each operation that we can request. */
export const notifiedNames: Readonly<Record<OperationKind, NotifiedOperation>> = {
  confirm: "capture",
  cancel: "cancellation",
  refund: "refund",
};

const ranks = gatewayStateSchema.options;

/** Returns the order's state after a notification; null: unchanged; undefined: not understood. */
export function effectOf({ operation, status }: Notified): GatewayState | null | undefined {
  const rows = new Map<string, object>(Object.entries(effects));
  const row = new Map<string, GatewayState | null>(Object.entries(rows.get(operation) ?? {}));
  return row.get(status);
}

/** The notifications and finished operations of one transaction of the gateway. */
interface Copy {
  readonly notified: readonly Notified[];
  readonly done: readonly Done[];
}

const returnedWhole: readonly GatewayState[] = ["refunded", "cancelled", "reversed"];

/** Returns an order's state; it is paid back only if all transactions of the order are. */
export function orderStateOf(amountMinor: number, copies: readonly Copy[]): GatewayState {
  const states = copies.map(({ notified, done }) => gatewayStateOf(amountMinor, notified, done));
  const state = highest(states);
  const standing = states.some((one) => !returnedWhole.includes(one));
  return standing && returnedWhole.includes(state) ? "partly-refunded" : state;
}

/** Returns the state of one transaction; the sequence of its notifications does not matter. */
function gatewayStateOf(
  amountMinor: number,
  notified: readonly Notified[],
  done: readonly Done[],
): GatewayState {
  const states = [
    ...notified.map((one) => effectOf(one) ?? "unknown"),
    ...done.map(({ kind }) => ownEffects[kind]),
  ];
  const state = highest(states);
  if (state !== "refunded") return state;
  return refundedSum(amountMinor, notified, done) < amountMinor ? "partly-refunded" : "refunded";
}

function highest(states: readonly GatewayState[]): GatewayState {
  const rank = Math.max(0, ...states.map((state) => ranks.indexOf(state)));
  return ranks[rank] ?? "unknown";
}

/**
 * Returns the sum that was certainly refunded, in minor units: the notified refunds, and our own
 * refunds whose amount is not notified. A notified refund of the same amount may be our own refund,
 * so the two count once; otherwise a charge could seem to be paid back.
 */
export function refundedSum(
  amountMinor: number,
  notified: readonly Notified[],
  done: readonly Done[],
): number {
  const known = notified
    .filter(({ operation, status }) => operation === "refund" && status === "ok")
    .map((one) => one.amountMinor ?? amountMinor);
  const ours = done.filter(({ kind }) => kind === "refund");
  const left = [...known];
  const added = ours
    .map((one) => one.amountMinor ?? amountMinor)
    .filter((amount) => {
      const at = left.indexOf(amount);
      if (at >= 0) left.splice(at, 1);
      return at < 0;
    });
  return [...known, ...added].reduce((sum, amount) => sum + amount, 0);
}
