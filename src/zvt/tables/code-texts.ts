import texts from "./code-texts.json" with { type: "json" };
import { codeText, type Texts } from "./result-codes.ts";

/**
 * The status codes of 04 FF, docs/zvt.md 11.3, and those that Ingenico devices send (A0 to A5).
 * Where that table marks a code with x, the German text is word for word what a certified
 * unattended terminal without its own display has to show.
 */
const statuses: Readonly<Record<string, Texts>> = texts.statuses;

/**
 * docs/zvt.md 11.3: 40 added to a code up to 27 means the same, and that the card shall be taken.
 */
const CARD_REMOVAL = 0x40;
const CARD_REMOVAL_MIN = 0x41;
const CARD_REMOVAL_MAX = 0x67;

/** Returns the texts of a status; null when the code has none, as FF: the message has the text. */
export function intermediateTexts(code: number): Texts | null {
  const own = statuses[codeText(code)];
  if (own) return own;
  if (code < CARD_REMOVAL_MIN || code > CARD_REMOVAL_MAX) return null;
  const plain = statuses[codeText(code - CARD_REMOVAL)];
  if (!plain) return null;
  const both = (language: keyof Texts) => `${plain[language]}. ${texts.removal[language]}`;
  return { en: both("en"), fr: both("fr"), de: both("de") };
}

/** docs/zvt.md 11.6, decimal: field 8A, and tag 41 above 255. 46 is Maestro, not V PAY. */
const cardNames: Readonly<Record<number, string>> = texts.cards;
/** Field 8A says FF when the number does not fit and stands in tag 41 (docs/zvt.md 7.1). */
const SEE_TAG_41 = 0xff;

/** Returns the name of a card type; undefined when the terminal names none that is listed. */
export function cardTypeName(
  cardType: number | undefined,
  tag41: number | undefined,
): string | undefined {
  const number = cardType === undefined || cardType === SEE_TAG_41 ? tag41 : cardType;
  return number === undefined ? undefined : cardNames[number];
}
