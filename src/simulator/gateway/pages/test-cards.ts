import { maskPan } from "../../../shared/masking/mask.ts";
import type { Order, Payment } from "../orders/order.ts";
import cards from "./test-cards.json" with { type: "json" };

/**
 * The only cards that the payment page accepts, so that nobody enters a real one here: well-known
 * numbers; the refused ones are those of a browser test (docs/gateway.md 2.7).
 */
export const testCards: readonly TestCard[] = cards;
type TestCard = (typeof cards)[number];

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
