import cards from "./cards.json" with { type: "json" };

/**
 * A card of the simulated customer. The cards exist in masked form only, so that no full card
 * number can get anywhere: E stands for a masked digit.
 */
export interface TestCard {
  readonly name: CardName;
  /** Name of the scheme, as receipts print it. */
  readonly scheme: string;
  readonly maskedDigits: string;
  /** End of validity, YYMM. */
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

/** Whether the card takes the money from an account at once. */
export function isDebitCard(name: CardName): boolean {
  return name === "girocard" || name === "maestro";
}

/** Returns the card number for people and JSON, with X for each masked digit. */
export function maskedPan(card: TestCard): string {
  return card.maskedDigits.replaceAll("E", "X");
}
