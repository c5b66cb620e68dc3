import { finished } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { chargedOf } from "../attempts/phase-table.ts";
import type { PaymentResult } from "../orders/orders.ts";
import type { CallContext } from "./call.ts";

type At = Pick<CallContext, "orders" | "log">;

/**
 * Records that the kiosk has read an answer once it is written completely
 * (docs/rules/11-unread.md). An answer to HEAD has no body, so it is not recorded.
 */
export function whenWritten(
  { method }: FastifyRequest,
  { raw }: FastifyReply,
  { orders, log }: At,
  orderId: string,
): void {
  if (method === "HEAD") return;
  raw.once("finish", () => {
    try {
      orders.answerRead(orderId);
    } catch (error) {
      log.error({ orderId, err: error }, "the journal did not take that an answer was read");
    }
  });
}

/**
 * Records whether the answer about a charged order arrived at the kiosk (docs/rules/11-unread.md).
 * An answer that repeats an earlier one and does not arrive is not recorded.
 */
export function followCharge(
  { method }: FastifyRequest,
  { raw }: FastifyReply,
  { orders, log }: At,
  { attempt, replayed }: Pick<PaymentResult, "attempt" | "replayed">,
): void {
  if (method === "HEAD" || chargedOf(attempt) !== "yes") return;
  const { orderId } = attempt.request;
  // The connection's end comes as an error if the answer was not written completely before.
  finished(raw, (error) => {
    const arrived = !error;
    if (replayed && !arrived) return;
    try {
      orders.chargeAnswered(orderId, arrived);
    } catch (error) {
      log.error({ orderId, err: error }, "the journal did not take whether a charge was read");
    }
  });
}
