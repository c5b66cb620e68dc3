/**
 * The cards of the simulated customer. They exist in masked form only, so that no full card number
 * can get anywhere: E stands for a masked digit, as in field 22 (docs/zvt.md 4.2).
 */
export interface TestCard {
  readonly name: CardName;
  /** As printed and as in field 8B. */
  readonly scheme: string;
  /** Field 8A and tag 41 (docs/zvt.md 11.6). */
  readonly cardType: number;
  readonly maskedDigits: string;
  /** YYMM. */
  readonly expiry: string;
  readonly sequence: string;
  readonly aid: string;
  readonly label: string;
  /** Tag 1F12 (docs/zvt.md 11.2): 01 chip, 02 contactless. */
  readonly technology: 1 | 2;
  /** Tag 1F10 (docs/zvt.md 11.2): 00 none, 02 online PIN. */
  readonly holderCheck: 0 | 2;
  /** Place in the totals of field 60 (docs/zvt.md 7.1). */
  readonly totalsGroup: number;
}

export const cardNames = ["girocard", "mastercard", "visa", "amex", "maestro", "jcb"] as const;
export type CardName = (typeof cardNames)[number];

export const testCards: Readonly<Record<CardName, TestCard>> = {
  girocard: {
    name: "girocard",
    scheme: "girocard",
    cardType: 5,
    maskedDigits: "672559EEEEEEEEE0016",
    expiry: "2912",
    sequence: "0001",
    aid: "A00000035910100280",
    label: "girocard",
    technology: 1,
    holderCheck: 2,
    totalsGroup: 0,
  },
  mastercard: {
    name: "mastercard",
    scheme: "Mastercard",
    cardType: 6,
    maskedDigits: "541333EEEEEE0006",
    expiry: "2911",
    sequence: "0001",
    aid: "A0000000041010",
    label: "Mastercard",
    technology: 2,
    holderCheck: 0,
    totalsGroup: 2,
  },
  visa: {
    name: "visa",
    scheme: "Visa",
    cardType: 10,
    maskedDigits: "476173EEEEEE0119",
    expiry: "2812",
    sequence: "0001",
    aid: "A0000000031010",
    label: "VISA CREDIT",
    technology: 2,
    holderCheck: 0,
    totalsGroup: 4,
  },
  amex: {
    name: "amex",
    scheme: "American Express",
    cardType: 8,
    maskedDigits: "374245EEEEE1006",
    expiry: "2710",
    sequence: "0000",
    aid: "A00000002501",
    label: "AMEX",
    technology: 1,
    holderCheck: 2,
    totalsGroup: 3,
  },
  maestro: {
    name: "maestro",
    scheme: "Maestro",
    cardType: 46,
    maskedDigits: "679999EEEEEEEEE0018",
    expiry: "2806",
    sequence: "0002",
    aid: "A0000000043060",
    label: "Maestro",
    technology: 1,
    holderCheck: 2,
    totalsGroup: 6,
  },
  jcb: {
    name: "jcb",
    scheme: "JCB",
    cardType: 14,
    maskedDigits: "354066EEEEEE2012",
    expiry: "2809",
    sequence: "0001",
    aid: "A0000000651010",
    label: "J/Speedy",
    technology: 1,
    holderCheck: 2,
    totalsGroup: 1,
  },
};

/** docs/zvt.md 6.3: some commands are not for girocard and Maestro. */
export function isDebitCard(name: CardName): boolean {
  return name === "girocard" || name === "maestro";
}

/** The form for people and JSON: X for every masked digit. */
export function maskedPan(card: TestCard): string {
  return card.maskedDigits.replaceAll("E", "X");
}
