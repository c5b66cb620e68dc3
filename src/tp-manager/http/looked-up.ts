import { AppError } from "../../shared/catalog/errors.ts";
import type { GatewayHistory } from "../../shared/ipc/contract.ts";
import { type Currency, majorOf } from "../../shared/money.ts";
import { isoTime, timeLeft } from "../../shared/time.ts";
import { isPaying } from "../attempts/payment.ts";
import { rowOf } from "../attempts/phase-table.ts";
import { answerOf, type Warning, warningsOf } from "../orders/answer.ts";
import type { FoundOrder } from "../orders/orders.ts";
import type { Answer, CallContext } from "./call.ts";

/**
 * Returns an order with every attempt, its evidence and its state at the gateway. `http`: the
 * status of the order's own answer; `warnings`: the warnings whose texts are in the body.
 */
export async function lookedUp(at: CallContext, orderId: string) {
  let found = await at.orders.lookUp(orderId);
  if (found.attempt.openReturn) {
    // An API error is ignored: the answer below shows that the return is not finished.
    await at.gateway.reconcile(found.attempt).catch(apiErrorOf);
    found = await at.orders.lookUp(orderId);
  }
  const { http, body } = answerOf(found.attempt, found.delivery, found.askedUntilMs);
  const { state, request } = found.attempt;
  // The supervisor gets an order when a payment has ended, and a 202 waits for nobody.
  const hasNone = isPaying(state) && found.attempts.length === 1;
  const gateway = hasNone ? null : await gatewayStanding(at, orderId, request.currency);
  const warnings = [...warningsOf(found.attempt), ...gatewayWarnings(gateway)];
  const { current } = at.arbiter.lease;
  return {
    found,
    http,
    warnings,
    body: {
      ...body,
      ...timeLeft(current?.orderId === orderId ? current.endsAtMs : undefined, at.clock.now()),
      warnings: warnings.map(({ says }) => says),
      gateway,
      attempts: found.attempts.map(history),
    } as Answer<"lookup">,
  };
}

/** Returns an API error; throws any other error again. */
export function apiErrorOf(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

/** Returns one attempt of the order with all its events, whose texts were masked when stored. */
function history(attempt: FoundOrder["attempts"][number]): Answer<"attempt"> {
  const { body } = answerOf(attempt, null);
  return {
    transactionId: attempt.transactionId,
    number: attempt.number,
    status: body.status,
    error: body.error,
    amount: body.amount,
    chargedAmount: body.chargedAmount,
    currency: body.currency,
    startedAt: isoTime(attempt.startedAtMs),
    endedAt: isoTime(attempt.endedAtMs),
    baseline: attempt.baseline as Answer<"baseline"> | null,
    events: attempt.events.map(eventOf),
  };
}

/** Returns an event as it was stored; the kind of a cancel or refund is called `returnKind`. */
function eventOf({ atMs, kind, detail }: FoundOrder["attempts"][number]["events"][number]) {
  const { kind: returnKind, ...others } = detail;
  const own = returnKind === undefined ? {} : { returnKind };
  return { at: isoTime(atMs), kind, ...own, ...others } as Answer<"attemptEvent">;
}

const returnedStates: readonly GatewayHistory["state"][] = [
  "partly-refunded",
  "refunded",
  "cancelled",
  "reversed",
];

/**
 * Throws if the order's money went back at the gateway without this connector, by a merchant's
 * refund or a chargeback: the terminal must not return it again (docs/rules/07-returns.md). Only
 * the gateway's notifications show this. A supervisor that does not answer prevents no reversal.
 */
export async function assertNotReturnedElsewhere(
  { orders, supervisor }: CallContext,
  orderId: string,
): Promise<void> {
  if (rowOf(orders.decisive(orderId)).reversal !== "begin") return;
  const history = await supervisor.ask("gateway-history", { orderId }).catch(apiErrorOf);
  if (history instanceof AppError || !returnedStates.includes(history.state)) return;
  throw new AppError("REVERSAL_REFUSED", `The order is ${history.state} at the gateway.`, {
    details: { state: history.state },
  });
}

function gatewayWarnings(standing: Answer<"gatewayStanding">): Warning[] {
  const known = standing && "failed" in standing ? standing : undefined;
  const { possibleOrders: count = 0, failed = [] } = known ?? {};
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

/** Returns `gateway` of `GET /payment/{orderId}`; null: the supervisor never got the order. */
async function gatewayStanding(
  { supervisor }: CallContext,
  orderId: string,
  currency: Currency,
): Promise<Answer<"gatewayStanding">> {
  const history = await supervisor.ask("gateway-history", { orderId }).catch(apiErrorOf);
  if (history instanceof AppError) return { state: "unknown", problem: history.message };
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
