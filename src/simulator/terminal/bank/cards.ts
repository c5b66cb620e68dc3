/**
 * The cards of the simulated customer. They exist in masked form only, so that no full card number
 * can get anywhere: E stands for a masked digit.
 */
export interface TestCard {
  readonly name: CardName;
  /** As printed. */
  readonly scheme: string;
  readonly maskedDigits: string;
  /** YYMM. */
  readonly expiry: string;
  readonly sequence: string;
  readonly aid: string;
  readonly label: string;
  readonly technology: "chip" | "contactless";
  readonly holderCheck: "none" | "online-pin";
}

export const cardNames = ["girocard", "mastercard", "visa", "amex", "maestro", "jcb"] as const;
export type CardName = (typeof cardNames)[number];

export const testCards: Readonly<Record<CardName, TestCard>> = {
  girocard: {
    name: "girocard",
    scheme: "girocard",
    maskedDigits: "672559EEEEEEEEE0016",
    expiry: "2912",
    sequence: "0001",
    aid: "A00000035910100280",
    label: "girocard",
    technology: "chip",
    holderCheck: "online-pin",
  },
  mastercard: {
    name: "mastercard",
    scheme: "Mastercard",
    maskedDigits: "541333EEEEEE0006",
    expiry: "2911",
    sequence: "0001",
    aid: "A0000000041010",
    label: "Mastercard",
    technology: "contactless",
    holderCheck: "none",
  },
  visa: {
    name: "visa",
    scheme: "Visa",
    maskedDigits: "476173EEEEEE0119",
    expiry: "2812",
    sequence: "0001",
    aid: "A0000000031010",
    label: "VISA CREDIT",
    technology: "contactless",
    holderCheck: "none",
  },
  amex: {
    name: "amex",
    scheme: "American Express",
    maskedDigits: "374245EEEEE1006",
    expiry: "2710",
    sequence: "0000",
    aid: "A00000002501",
    label: "AMEX",
    technology: "chip",
    holderCheck: "online-pin",
  },
  maestro: {
    name: "maestro",
    scheme: "Maestro",
    maskedDigits: "679999EEEEEEEEE0018",
    expiry: "2806",
    sequence: "0002",
    aid: "A0000000043060",
    label: "Maestro",
    technology: "chip",
    holderCheck: "online-pin",
  },
  jcb: {
    name: "jcb",
    scheme: "JCB",
    maskedDigits: "354066EEEEEE2012",
    expiry: "2809",
    sequence: "0001",
    aid: "A0000000651010",
    label: "J/Speedy",
    technology: "chip",
    holderCheck: "online-pin",
  },
};

/** Whether the card takes the money from an account at once. */
export function isDebitCard(name: CardName): boolean {
  return name === "girocard" || name === "maestro";
}

/** Returns the card number for people and JSON, with X for each masked digit. */
export function maskedPan(card: TestCard): string {
  return card.maskedDigits.replaceAll("E", "X");
}
