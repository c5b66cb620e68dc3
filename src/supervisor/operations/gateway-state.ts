import type { GatewayState } from "../../shared/ipc/contract.ts";
import type { OperationKind } from "../gateway/operation-request.ts";

/** Specification 2, "Events": operation types and statuses of notifications. */
export const notifiedOperations = [
  "authorization",
  "capture",
  "cancellation",
  "refund",
  "reject",
] as const;
export type NotifiedOperation = (typeof notifiedOperations)[number];
export const notifiedStatuses = ["ok", "nok", "cancel", "waiting"] as const;

/** One verified notification, as far as the state of its order depends on it. */
export interface Notified {
  readonly operation: string;
  readonly status: string;
  /** Of a refund; null when it does not say: all of it. */
  readonly amountMinor: number | null;
}

/** One of our own operations that the gateway has carried out. */
export interface Done {
  readonly kind: OperationKind;
  readonly amountMinor: number | null;
}

/** Every operation and status, and what it makes of an order by itself; null: nothing. */
const effects: Readonly<Record<NotifiedOperation, Readonly<Record<string, GatewayState | null>>>> =
  {
    authorization: { ok: "authorized", nok: "declined", cancel: "aborted", waiting: "waiting" },
    capture: { ok: "captured", nok: null, cancel: null, waiting: null },
    cancellation: { ok: "cancelled", nok: null, cancel: null, waiting: null },
    refund: { ok: "refunded", nok: null, cancel: null, waiting: null },
    reject: { ok: "reversed", nok: null, cancel: null, waiting: null },
  };

const ownEffects: Readonly<Record<OperationKind, GatewayState>> = {
  confirm: "captured",
  cancel: "cancelled",
  refund: "refunded",
};

/** Later ones win, in whatever order the notifications came. */
const ranks: readonly GatewayState[] = [
  "unknown",
  "waiting",
  "declined",
  "aborted",
  "authorized",
  "captured",
  "partly-refunded",
  "refunded",
  "cancelled",
  "reversed",
];

/** What one notification makes of an order; undefined when its words are not known. */
export function effectOf({ operation, status }: Notified): GatewayState | null | undefined {
  const known = notifiedOperations.find((name) => name === operation);
  const row = known && effects[known];
  return row && Object.hasOwn(row, status) ? row[status] : undefined;
}

/** What is known of one transaction of the gateway. */
export interface Copy {
  readonly notified: readonly Notified[];
  readonly done: readonly Done[];
}

const returnedWhole: readonly GatewayState[] = ["refunded", "cancelled", "reversed"];

/**
 * How an order of `amountMinor` stands that the gateway has once, or by a lost answer several
 * times: then it is not returned before all of them are.
 */
export function orderStateOf(amountMinor: number, copies: readonly Copy[]): GatewayState {
  const states = copies.map(({ notified, done }) => gatewayStateOf(amountMinor, notified, done));
  const state = highest(states);
  const standing = states.some((one) => !returnedWhole.includes(one));
  return standing && returnedWhole.includes(state) ? "partly-refunded" : state;
}

/** How one transaction stands. Order and repetition of what was told do not matter. */
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
  const refunded = Math.max(refundedSum(amountMinor, notified), doneSum(amountMinor, done));
  return refunded < amountMinor ? "partly-refunded" : "refunded";
}

function highest(states: readonly GatewayState[]): GatewayState {
  const rank = Math.max(0, ...states.map((state) => ranks.indexOf(state)));
  return ranks[rank] ?? "unknown";
}

/** The sum of the refunds that were notified as carried out. */
export function refundedSum(amountMinor: number, notified: readonly Notified[]): number {
  return notified
    .filter(({ operation, status }) => operation === "refund" && status === "ok")
    .reduce((sum, one) => sum + (one.amountMinor ?? amountMinor), 0);
}

export function doneSum(amountMinor: number, done: readonly Done[]): number {
  return done
    .filter(({ kind }) => kind === "refund")
    .reduce((sum, one) => sum + (one.amountMinor ?? amountMinor), 0);
}
