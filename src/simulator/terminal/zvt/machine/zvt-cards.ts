import { type CardName, type TestCard, testCards } from "../../bank/cards.ts";

/** A card of the simulated customer with the codes that ZVT has for it. */
export interface ZvtCard extends TestCard {
  /** Field 8A and tag 41 (docs/zvt.md 11.6). */
  readonly cardType: number;
  /** Place in the totals of field 60 (docs/zvt.md 7.1). */
  readonly totalsGroup: number;
}

const codes: Readonly<Record<CardName, Pick<ZvtCard, "cardType" | "totalsGroup">>> = {
  girocard: { cardType: 5, totalsGroup: 0 },
  mastercard: { cardType: 6, totalsGroup: 2 },
  visa: { cardType: 10, totalsGroup: 4 },
  amex: { cardType: 8, totalsGroup: 3 },
  maestro: { cardType: 46, totalsGroup: 6 },
  jcb: { cardType: 14, totalsGroup: 1 },
};

export function zvtCard(name: CardName): ZvtCard {
  return { ...testCards[name], ...codes[name] };
}

/** Tag 1F12 (docs/zvt.md 11.2). */
export const technologyCodes = { chip: 1, contactless: 2 } as const;
/** Tag 1F10 (docs/zvt.md 11.2). */
export const holderCheckCodes = { none: 0, "online-pin": 2 } as const;
