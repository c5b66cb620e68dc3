import { maskPan } from "../../../shared/masking/mask.ts";
import type { Order, Payment } from "../orders/order.ts";
import cards from "./test-cards.json" with { type: "json" };

/**
 * The only cards that the payment page accepts, so that nobody enters a real card: well-known test
 * numbers, which are approved, and the declined cards of a browser test (docs/gateway.md 2.7).
 */
const testCards: readonly TestCard[] = cards;
export type TestCard = (typeof cards)[number];

export function testCard(number: string): TestCard | undefined {
  return testCards.find((candidate) => candidate.number === number);
}

/** Returns the payment to store: the masked card, and what the customer entered. */
export function paymentWith(
  { number, paymentMethod, country, enrolled3ds }: TestCard,
  customer: Pick<Payment, "customerEmail" | "customerCountry">,
): Payment {
  return { paymentMethod, card: maskPan(number), cardCountry: country, enrolled3ds, ...customer };
}

/** Returns a payment that needs no form, with the first test card that is approved or declined. */
export function autoPayment({ customerEmail }: Order, approved = true): Payment {
  const card = testCards.find((candidate) => candidate.approved === approved) as TestCard;
  return paymentWith(card, { customerEmail, customerCountry: "FR" });
}
