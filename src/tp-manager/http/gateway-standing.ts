import { AppError } from "../../shared/catalog/errors.ts";
import type { GatewayHistory } from "../../shared/ipc/contract.ts";
import { type Currency, majorOf } from "../../shared/money.ts";
import { isoTime } from "../../shared/time.ts";
import { rowOf } from "../attempts/phase-table.ts";
import type { Warning } from "../orders/warnings.ts";
import type { CallContext } from "./call-context.ts";

/** States in which the gateway has given money back, asked by us or by another program. */
const returnedStates: readonly GatewayHistory["state"][] = [
  "partly-refunded",
  "refunded",
  "cancelled",
  "reversed",
];

/**
 * Money that went back at the gateway without us (a merchant's own refund, a chargeback) is told
 * only by its notifications: the terminal must not return it again (docs/rules/07-returns.md). A
 * supervisor that does not answer keeps nobody from a reversal.
 */
export async function assertNotReturnedElsewhere(
  { orders, supervisor }: CallContext,
  orderId: string,
): Promise<void> {
  const attempt = orders.latest(orderId);
  if (rowOf(attempt).reversal !== "begin") return;
  const history = await supervisor.ask("gateway-history", { orderId }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
  });
  if (!history || !returnedStates.includes(history.state)) return;
  throw new AppError("REVERSAL_REFUSED", `The order is ${history.state} at the gateway.`, {
    details: { state: history.state },
  });
}

interface GatewayPart {
  readonly state: GatewayHistory["state"];
  readonly possibleOrders?: number;
  readonly failed?: readonly string[];
  readonly [name: string]: unknown;
}

/** The warnings that `GET /payment/{orderId}` adds about the gateway. */
export function gatewayWarnings(part: GatewayPart | null): Warning[] {
  const { possibleOrders: count = 0, failed = [] } = part ?? {};
  const copies =
    `the gateway may have this order ${count} times: ` +
    "an answer was lost and it was sent again; look for copies there";
  const failure =
    "the gateway answered that an operation was done and then notified that it failed: " +
    "look the transaction up there";
  return [
    ...(count < 2 ? [] : [{ warning: "gateway-copies", says: copies, count } as const]),
    ...(failed.length === 0 ? [] : [{ warning: "gateway-failed", says: failure } as const]),
  ];
}

/** `gateway` of `GET /payment/{orderId}`; null for an order the supervisor was never given. */
export async function gatewayPart(
  { supervisor }: CallContext,
  orderId: string,
  currency: Currency,
): Promise<GatewayPart | null> {
  let history: GatewayHistory;
  try {
    history = await supervisor.ask("gateway-history", { orderId });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { state: "unknown", problem: error.message };
  }
  const { known, events, operations, possibleOrders = 0, failed = [], ...others } = history;
  if (!known) return null;
  const { sending = [], ...standing } = others;
  return {
    ...standing,
    possibleOrders,
    failed,
    sending: sending.map(({ atMs, ...step }) => ({ at: isoTime(atMs), ...step })),
    history: events.map(({ atMs, ...event }) => ({ at: isoTime(atMs), ...event })),
    operations: operations.map(({ askedAtMs, endedAtMs, amountMinor, ...operation }) => ({
      ...operation,
      amount: majorOf(amountMinor, currency),
      askedAt: isoTime(askedAtMs),
      endedAt: isoTime(endedAtMs),
    })),
  };
}
