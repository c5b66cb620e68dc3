import { AppError, type Charged } from "../../shared/errors.ts";
import type { PaymentRequest } from "../attempts/payment.ts";

/**
 * An order id stands for one amount and currency, for ever (docs/design.md 5.11). Throws
 * ORDER_MISMATCH.
 */
export function assertSameOrder(
  request: PaymentRequest,
  earlier: PaymentRequest,
  charged: Charged,
): void {
  const same =
    request.amountMinor === earlier.amountMinor &&
    request.currency.alpha === earlier.currency.alpha;
  if (same) return;
  throw new AppError("ORDER_MISMATCH", undefined, {
    charged,
    details: { amount: earlier.echo.amount, currency: earlier.currency.alpha },
  });
}
