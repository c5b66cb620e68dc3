import { AppError } from "../../shared/catalog/errors.ts";
import type { GatewayState } from "../../shared/ipc/contract.ts";
import { isoTime } from "../../shared/time.ts";
import { answerOf } from "../orders/answer.ts";
import type { FoundOrder } from "../orders/orders.ts";
import { type Warning, warningsOf } from "../orders/warnings.ts";
import type { CallContext } from "./call-context.ts";
import { gatewayPart, gatewayWarnings } from "./gateway-standing.ts";

interface LookedUp {
  readonly found: FoundOrder;
  /** Of the order's own answer. */
  readonly http: number;
  readonly body: object;
  /** The `warnings` of the body. */
  readonly warnings: readonly Warning[];
  /** undefined: the gateway was never given the order. */
  readonly gatewayState: GatewayState | undefined;
}

/** An order with every attempt, its evidence and its standing at the gateway. */
export async function lookedUp(at: CallContext, orderId: string): Promise<LookedUp> {
  await at.gateway.reconcile(at.orders.latest(orderId)).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error; // the return stays open, and is shown so
  });
  const found = await at.orders.lookUp(orderId);
  const { http, body } = answerOf(found.attempt, found.delivery);
  const gateway = await gatewayPart(at, orderId, found.attempt.request.currency);
  const warnings = [...warningsOf(found.attempt), ...gatewayWarnings(gateway)];
  return {
    found,
    http,
    warnings,
    gatewayState: gateway?.state,
    body: {
      ...body,
      warnings: warnings.map(({ says }) => says),
      gateway,
      attempts: found.attempts.map(history),
    },
  };
}

/** One attempt of the order with everything that happened to it, masked as it was stored. */
function history(attempt: FoundOrder["attempts"][number]): object {
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
    baseline: attempt.baseline,
    // A return at the gateway is of a kind too, and must not stand in the place of the event's.
    events: attempt.events.map(({ atMs, kind, detail: { kind: returnKind, ...detail } }) => ({
      at: isoTime(atMs),
      kind,
      ...(returnKind === undefined ? {} : { returnKind }),
      ...detail,
    })),
  };
}
