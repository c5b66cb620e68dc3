import { formatMajor } from "../../shared/money.ts";
import type { Logger } from "../../shared/process/logger.ts";
import { type Attempt, isReversed } from "./payment.ts";

/** The name of the alarm about {@link isReturnedTwice}. */
export const RETURNED_TWICE = "returned-twice";

/** Reversed at the terminal, and returned at gateway or bank too (docs/rules/07-returns.md). */
export function isReturnedTwice({ state, returnedSome }: Attempt): boolean {
  return isReversed(state) && returnedSome;
}

/** Raises the alarm of {@link isReturnedTwice}: a person has to compare the two. */
export function alarmReturnedTwice(log: Logger, attempt: Attempt): void {
  const { transactionId, request, state, returnedMinor } = attempt;
  const { orderId, currency } = request;
  const atTerminal = (isReversed(state) && state.sale.report.amountMinor) || request.amountMinor;
  const major = (minor: number): string =>
    minor === 0
      ? "an unknown amount"
      : `${formatMajor(minor, currency.exponent)} ${currency.alpha}`;
  log.error(
    { alarm: RETURNED_TWICE, transactionId, orderId, atTerminal, atGateway: returnedMinor },
    `money of order ${orderId} went back at the terminal, ${major(atTerminal)}, and at the ` +
      `gateway, ${major(returnedMinor)}: right only when the gateway's own record was put right ` +
      "after the reversal; else the customer has it twice",
  );
}
