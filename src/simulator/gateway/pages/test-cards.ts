import { maskPan } from "../../../shared/masking/mask.ts";
import type { Order, Payment } from "../orders/order.ts";

/** The only cards that the payment page accepts, so that nobody enters a real one here. */

interface TestCard {
  readonly number: string;
  readonly paymentMethod: string;
  readonly country: string;
  readonly enrolled3ds: boolean;
  readonly approved: boolean;
}

/** Well-known numbers; the refused ones are those of a browser test (docs/gateway.md 2.7). */
export const testCards: readonly TestCard[] = (
  [
    ["4111111111111111", "VISA", "US", false, true],
    ["4000000000000002", "VISA", "FR", true, true],
    ["5555555555554444", "MASTERCARD", "US", false, true],
    ["5105105105105100", "MASTERCARD", "FR", true, true],
    ["378282246310005", "AMERICAN_EXPRESS", "US", false, true],
    ["4111113333333333", "VISA", "FR", false, false],
    ["5555553333333333", "MASTERCARD", "FR", false, false],
  ] as const
).map(([number, paymentMethod, country, enrolled3ds, approved]) => {
  return { number, paymentMethod, country, enrolled3ds, approved };
});

export function testCard(number: string): TestCard | undefined {
  return testCards.find((candidate) => candidate.number === number);
}

/** Returns what is kept of a card, with what the customer entered. */
export function paymentWith(
  { number, paymentMethod, country, enrolled3ds }: TestCard,
  customer: Pick<Payment, "customerEmail" | "customerCountry">,
): Payment {
  return { paymentMethod, card: maskPan(number), cardCountry: country, enrolled3ds, ...customer };
}

/** Returns a payment without the payment page, with the first test card. */
export function autoPayment({ customerEmail }: Pick<Order, "customerEmail">): Payment {
  const [first] = testCards as readonly [TestCard, ...TestCard[]];
  return paymentWith(first, { customerEmail, customerCountry: "FR" });
}
