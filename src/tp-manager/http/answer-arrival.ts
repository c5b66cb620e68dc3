import type { FastifyReply, FastifyRequest } from "fastify";
import { chargedOf } from "../attempts/phase-table.ts";
import type { PaymentResult } from "../orders/orders.ts";
import type { CallContext } from "./call-context.ts";

type At = Pick<CallContext, "orders" | "log">;

/**
 * docs/rules/11-unread.md: an answer that was not written completely blocks a second one of its
 * kind. An answer to HEAD has no body, so nobody has read anything.
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
 * docs/rules/11-unread.md: an answer with a charge is followed until it has arrived, or not.
 * A repetition that does not arrive takes nothing from what the kiosk knows.
 */
export function followCharge(
  { method }: FastifyRequest,
  { raw }: FastifyReply,
  { orders, log }: At,
  { attempt, replayed }: Pick<PaymentResult, "attempt" | "replayed">,
): void {
  if (method === "HEAD" || chargedOf(attempt) !== "yes") return;
  const { orderId } = attempt.request;
  const record = (arrived: boolean): void => {
    if (replayed && !arrived) return;
    try {
      orders.chargeAnswered(orderId, arrived);
    } catch (error) {
      log.error({ orderId, err: error }, "the journal did not take whether a charge was read");
    }
  };
  let isWritten = false;
  raw.once("finish", () => {
    isWritten = true;
    record(true);
  });
  raw.once("close", () => {
    if (!isWritten) record(false);
  });
  if (raw.destroyed) record(false);
}
