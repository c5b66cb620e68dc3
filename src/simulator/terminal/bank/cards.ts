import cards from "./cards.json" with { type: "json" };

/** A card of the simulated customer. Masked digits are E, so no full card number exists. */
export interface TestCard {
  readonly name: CardName;
  readonly scheme: string;
  readonly maskedDigits: string;
  /** The month in which the card's validity ends, YYMM. */
  readonly expiry: string;
  readonly sequence: string;
  readonly aid: string;
  readonly label: string;
  readonly technology: "chip" | "contactless";
  readonly holderCheck: "none" | "online-pin";
}

export type CardName = keyof typeof cards;
export const cardNames = Object.keys(cards) as CardName[];
export const testCards = cards as Readonly<Record<CardName, TestCard>>;

/** Whether a payment debits the card's account at once. */
export function isDebitCard(name: CardName): boolean {
  return name === "girocard" || name === "maestro";
}

/** Returns the card's number for people and JSON, with X for each masked digit. */
export function maskedPan(card: TestCard): string {
  return card.maskedDigits.replaceAll("E", "X");
}
