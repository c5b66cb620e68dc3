import type { OperationStatus, OperationType, Order } from "./order.ts";

/** The rules of an order's life: docs/design.md 12.16. No I/O here. */

export type Demand =
  | { readonly kind: "wait" | "authorize" | "decline" | "abort" | "cancel" | "reject" }
  /** Without an amount: all that is left. */
  | { readonly kind: "capture" | "refund"; readonly amountMinor?: number | undefined };

type Standing = Pick<Order, "state" | "amountMinor" | "capturedMinor" | "refundedMinor">;

/** The operation that comes of a demand, and how the order stands afterwards. */
export interface Step {
  readonly type: OperationType;
  readonly status: OperationStatus;
  readonly amountMinor: number;
  readonly next: Pick<Order, "state" | "capturedMinor" | "refundedMinor">;
}

/** Why a demand is not met; `amount` says that another amount would be. */
export interface Objection {
  readonly amount: boolean;
  readonly because: string;
}

type Verdict =
  | { readonly allowed: true; readonly step: Step }
  | { readonly allowed: false; readonly objection: Objection };

export function decide(order: Standing, demand: Demand): Verdict {
  switch (demand.kind) {
    case "wait":
      return wait(order);
    case "authorize":
      return fromOpen(order, "authorized", "ok");
    case "decline":
      return fromOpen(order, "declined", "nok");
    case "abort":
      return fromOpen(order, "aborted", "cancel");
    case "capture":
      return capture(order, demand.amountMinor);
    case "cancel":
      return cancel(order);
    case "refund":
      return refund(order, demand.amountMinor);
    case "reject":
      return reject(order);
  }
}

/** The operation of a step that did not succeed: the order stands as before. */
export function failed(
  { state, capturedMinor, refundedMinor }: Standing,
  { type, amountMinor }: Step,
): Step {
  return { type, status: "nok", amountMinor, next: { state, capturedMinor, refundedMinor } };
}

function wait(order: Standing): Verdict {
  if (order.state !== "created") return forbidden(`it is already ${order.state}`);
  return step(order, "authorization", order.amountMinor, { state: "waiting" }, "waiting");
}

function fromOpen(
  order: Standing,
  state: "authorized" | "declined" | "aborted",
  status: OperationStatus,
): Verdict {
  const open = order.state === "created" || order.state === "waiting";
  if (!open) return forbidden(`it is already ${order.state}`);
  return step(order, "authorization", order.amountMinor, { state }, status);
}

/** Always preceded by an authorization; a smaller amount gives up the rest. */
function capture(order: Standing, amountMinor = order.amountMinor): Verdict {
  if (order.state !== "authorized") return forbidden(`it is ${order.state}, not authorized`);
  if (amountMinor > order.amountMinor) return wrongAmount("more than was authorized");
  if (amountMinor === 0) return wrongAmount("nothing to capture");
  return step(order, "capture", amountMinor, { state: "captured", capturedMinor: amountMinor });
}

function cancel(order: Standing): Verdict {
  if (order.state === "captured") return forbidden("it is captured: refund it instead");
  if (order.state !== "authorized") return forbidden(`it is ${order.state}, not authorized`);
  return step(order, "cancellation", order.amountMinor, { state: "cancelled" });
}

function refund(order: Standing, amount: number | undefined): Verdict {
  const left = order.capturedMinor - order.refundedMinor;
  const amountMinor = amount ?? left;
  if (order.state !== "captured") return forbidden(`it is ${order.state}, not captured`);
  if (amountMinor > left) return wrongAmount("more than was captured and not yet refunded");
  if (amountMinor === 0) return wrongAmount("nothing to refund");
  const refundedMinor = order.refundedMinor + amountMinor;
  const state = amountMinor === left ? "refunded" : "captured";
  return step(order, "refund", amountMinor, { state, refundedMinor });
}

/** Chargeback: the cardholder's bank takes back what it still has paid. */
function reject(order: Standing): Verdict {
  if (order.state !== "captured") return forbidden(`it is ${order.state}, not captured`);
  const amountMinor = order.capturedMinor - order.refundedMinor;
  return step(order, "reject", amountMinor, { state: "reversed" });
}

function step(
  { state, capturedMinor, refundedMinor }: Standing,
  type: OperationType,
  amountMinor: number,
  change: Partial<Step["next"]>,
  status: OperationStatus = "ok",
): Verdict {
  const next = { state, capturedMinor, refundedMinor, ...change };
  return { allowed: true, step: { type, status, amountMinor, next } };
}

function forbidden(because: string): Verdict {
  return { allowed: false, objection: { amount: false, because } };
}

function wrongAmount(because: string): Verdict {
  return { allowed: false, objection: { amount: true, because } };
}
