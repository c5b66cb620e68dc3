import type { Message } from "../index.ts";
import texts from "./code-texts.json" with { type: "json" };

/** Languages of the texts for codes. */
export type Language = "en" | "fr" | "de";

type Texts = Readonly<Record<Language, string>>;

/** The meaning of a code to the customer. */
type CodeReason =
  | "declined"
  | "cancelled"
  | "terminal-fault"
  | "wrong-currency"
  | "already-reversed";

/** The texts of result and error codes of docs/zvt.md 11.4 (field 27, 06 1E and 84 xx), by code. */
const knownTexts: Readonly<Record<string, Texts>> = texts.results;

/** Codes that reject the customer or the card. Any other code is a fault of the terminal. */
const reasons = new Map<number, CodeReason>([
  ...[
    0x00, 0x37, 0x64, 0x65, 0x67, 0x68, 0x6e, 0x71, 0x72, 0x73, 0x76, 0x78, 0x79, 0x7a, 0x7b, 0x7c,
    0x7e, 0xa4, 0xb5, 0xb7, 0xc3, 0xc5, 0xc8, 0xc9, 0xcd, 0xd2, 0xe7, 0xe8, 0xe9, 0xea, 0xeb, 0xec,
  ].map((code) => [code, "declined"] as const),
  [0x6c, "cancelled"],
  [0x6f, "wrong-currency"],
  [0xc6, "wrong-currency"],
  [0xcb, "wrong-currency"],
  [0xb4, "already-reversed"],
]);

/** The lowest and the highest result code that the bank's host sends (docs/zvt.md 11.4). */
const HOST_CODE_MIN = 1;
const HOST_CODE_MAX = 99;

/** Returns what a code means to the customer, and its texts. */
export function resultCode(code: number): { readonly reason: CodeReason; readonly texts: Texts } {
  const known = knownTexts[codeText(code)];
  if (known) return { reason: reasons.get(code) ?? "terminal-fault", texts: known };
  if (code < HOST_CODE_MIN || code > HOST_CODE_MAX) {
    return { reason: "terminal-fault", texts: texts.unknown };
  }
  const said = `(${hostCodeText(code)})`;
  const { en, fr, de } = texts.declinedByHost;
  const declined = { en: `${en} ${said}`, fr: `${fr} ${said}`, de: `${de} ${said}` };
  return { reason: "declined", texts: declined };
}

export function resultText(code: number, language: Language): string {
  return resultCode(code).texts[language];
}

/** Returns a result code in hexadecimal (`6C`), with its text in a language. */
export function coded(code: number, language: Language): { code: string; text: string } {
  return { code: codeText(code), text: resultText(code, language) };
}

/**
 * Codes of a locked terminal (docs/zvt.md 5.3, 11.5), which sends them in an abort 06 1E without a
 * result. In the result of a payment the same codes come from the bank.
 */
const locks: Readonly<Record<string, Texts>> = texts.locks;

/** Returns the text of a code that comes from the terminal: a 06 1E or 84 xx without a result. */
export function refusalText(code: number, language: Language): string {
  return locks[codeText(code)]?.[language] ?? resultText(code, language);
}

/** Returns a code that comes from the terminal, with its text (`6C aborted`). */
export function refusal(code: number, language: Language): string {
  return `${codeText(code)} ${refusalText(code, language)}`;
}

/** Returns whether a code that comes from the terminal says that the terminal is locked. */
export function isLock(code: number): boolean {
  return locks[codeText(code)] !== undefined;
}

/** Codes after which the same card may work: card unreadable, PIN wrong, or bank not reached. */
const sameCardCodes: readonly number[] = [
  0x37, 0x64, 0x65, 0x66, 0x6c, 0x72, 0x7b, 0x7c, 0x7d, 0x7e, 0x9b, 0x9c, 0xa0, 0xa1, 0xa3, 0xeb,
  0xec,
  // ISO 8583 codes as hosts use them: allowable tries left, issuer or switch not available.
  91, 96,
];

/** Returns what to do after a decline. The host's code is in field 27 (1 to 99) or field A0. */
export function declineAdvice(code: number, resultCodeAs?: number) {
  const isHost = code >= HOST_CODE_MIN && code <= HOST_CODE_MAX;
  const ownCode = isHost ? hostCodeText(code) : null;
  const hostCode = resultCodeAs ? codeText(resultCodeAs) : ownCode;
  const declined = resultCode(code).reason === "declined";
  const otherwise = declined ? "other-card" : "no";
  const tryAgain = sameCardCodes.includes(code) ? "same-card" : otherwise;
  return { hostCode, tryAgain } as const;
}

/** Codes of a good completion; after E0 and FC an update or a restart follows (docs/zvt.md 6.4). */
const goodCompletionCodes: readonly number[] = [0x00, 0xe0, 0xfc];

/** Returns whether a completion with this code means that the command was carried out. */
export function isGoodCompletion(code: number): boolean {
  return goodCompletionCodes.includes(code);
}

/** Returns a host's code as two digits, `05` for example. */
function hostCodeText(code: number): string {
  return String(code).padStart(2, "0");
}

/** The error code of a terminal that requires a registration first. */
export const NOT_REGISTERED = 0x6b;

/** Returns the code of 06 1E, 84 1E or 84 xx; if it has none: FF, other error. */
export function codeOf({ parts, control }: Message): number {
  if (parts.resultCode !== undefined) return parts.resultCode;
  return control >> 8 === 0x84 ? control & 0xff : 0xff;
}

/** Returns a code in hexadecimal (`6C`), as in answers and logs. */
export function codeText(code: number): string {
  return code.toString(16).padStart(2, "0").toUpperCase();
}

/**
 * The status codes of 04 FF in docs/zvt.md 11.3, and those that Ingenico devices send (A0 to A5).
 * Where 11.3 marks a code with x, the German text is word for word what a certified unattended
 * terminal without its own display has to show.
 */
const statuses: Readonly<Record<string, Texts>> = texts.statuses;

/** Added to a status code up to 27, this means: the card must be removed too (docs/zvt.md 11.3). */
const CARD_REMOVAL = 0x40;
const CARD_REMOVAL_MIN = 0x41;
const CARD_REMOVAL_MAX = 0x67;

/** Returns the texts of a status; null without texts, as for FF, whose message brings the text. */
export function intermediateTexts(code: number): Texts | null {
  const own = statuses[codeText(code)];
  if (own) return own;
  if (code < CARD_REMOVAL_MIN || code > CARD_REMOVAL_MAX) return null;
  const plain = statuses[codeText(code - CARD_REMOVAL)];
  if (!plain) return null;
  const both = (language: keyof Texts) => `${plain[language]}. ${texts.removal[language]}`;
  return { en: both("en"), fr: both("fr"), de: both("de") };
}

/** Card type names by the number in field 8A or tag 41 (docs/zvt.md 11.6); 46 is Maestro. */
const cardNames: Readonly<Record<number, string>> = texts.cards;
/** The value of field 8A that refers to tag 41 for the card type (docs/zvt.md 7.1). */
const SEE_TAG_41 = 0xff;

/** Returns the name of a card type; undefined when the terminal names none or an unlisted one. */
export function cardTypeName(
  cardType: number | undefined,
  tag41: number | undefined,
): string | undefined {
  const number = cardType === undefined || cardType === SEE_TAG_41 ? tag41 : cardType;
  return number === undefined ? undefined : cardNames[number];
}
