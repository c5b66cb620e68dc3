import type { Message } from "../index.ts";
import texts from "./code-texts.json" with { type: "json" };

const languages = ["en", "fr", "de", "it", "es"] as const;
export type Language = (typeof languages)[number];

type Texts = Readonly<Record<Language, string>>;

/** What a result code means for the customer. */
type CodeReason =
  | "declined"
  | "cancelled"
  | "terminal-fault"
  | "wrong-currency"
  | "already-reversed";

/** The texts of the result and error codes of docs/zvt.md 11.4 (field 27, 06 1E and 84 xx). */
const knownTexts: Readonly<Record<string, Texts>> = texts.results;

/** The codes that reject the customer or the card; any other code is a fault of the terminal. */
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

/** Returns the reason that a result code stands for, and its texts. */
export function resultCode(code: number): { readonly reason: CodeReason; readonly texts: Texts } {
  const known = knownTexts[codeText(code)];
  if (known) return { reason: reasons.get(code) ?? "terminal-fault", texts: known };
  if (code < HOST_CODE_MIN || code > HOST_CODE_MAX) {
    return { reason: "terminal-fault", texts: texts.unknown };
  }
  const said = `(${hostCodeText(code)})`;
  const declined = inEach((language) => `${texts.declinedByHost[language]} ${said}`);
  return { reason: "declined", texts: declined };
}

function inEach(textIn: (language: Language) => string): Texts {
  return Object.fromEntries(languages.map((one) => [one, textIn(one)])) as Record<Language, string>;
}

export function resultText(code: number, language: Language): string {
  return resultCode(code).texts[language];
}

/** Returns a result code in hexadecimal, for example `6C`, with its text in a language. */
export function coded(code: number, language: Language): { code: string; text: string } {
  return { code: codeText(code), text: resultText(code, language) };
}

/**
 * The texts of codes that a locked terminal sends in an abort 06 1E without a report (docs/zvt.md
 * 5.3, 11.5). In the report of a payment the same codes come from the bank.
 */
const locks: Readonly<Record<string, Texts>> = texts.locks;

/** Returns the text of a code in an abort 06 1E or a refusal 84 xx without a result. */
export function refusalText(code: number, language: Language): string {
  return locks[codeText(code)]?.[language] ?? resultText(code, language);
}

/** Returns a code that the terminal itself sends, with its text, for example `6C aborted`. */
export function refusal(code: number, language: Language): string {
  return `${codeText(code)} ${refusalText(code, language)}`;
}

/** Returns whether a code of the terminal itself means that the terminal is locked. */
export function isLock(code: number): boolean {
  return locks[codeText(code)] !== undefined;
}

/** The codes after which the same card can work: card unreadable, PIN wrong, bank not reached. */
const sameCardCodes: readonly number[] = [
  0x37, 0x64, 0x65, 0x66, 0x6c, 0x72, 0x7b, 0x7c, 0x7d, 0x7e, 0x9b, 0x9c, 0xa0, 0xa1, 0xa3, 0xeb,
  0xec,
  // Response codes of ISO 8583: allowable PIN tries left, issuer or switch not available.
  91, 96,
];

/** Returns the advice after a decline. The bank's code is field A0, else a `code` from 1 to 99. */
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

function hostCodeText(code: number): string {
  return String(code).padStart(2, "0");
}

/** The error code by which a terminal demands a registration first. */
export const NOT_REGISTERED = 0x6b;

/** Returns the code in 06 1E, 84 1E or 84 xx; FF (other error) if the message has none. */
export function codeOf({ parts, control }: Message): number {
  if (parts.resultCode !== undefined) return parts.resultCode;
  return control >> 8 === 0x84 ? control & 0xff : 0xff;
}

/** Returns a code in hexadecimal, for example `6C`, as in answers and logs. */
export function codeText(code: number): string {
  return code.toString(16).padStart(2, "0").toUpperCase();
}

/**
 * The texts of the status codes of 04 FF in docs/zvt.md 11.3, and of those of Ingenico devices (A0
 * to A5). For a code that 11.3 marks with x, the German text is word for word what a certified
 * unattended terminal without its own display has to show.
 */
const statuses: Readonly<Record<string, Texts>> = texts.statuses;

/** Added to a status code up to 27 when the card must be removed (docs/zvt.md 11.3). */
const CARD_REMOVAL = 0x40;
const CARD_REMOVAL_MIN = 0x41;
const CARD_REMOVAL_MAX = 0x67;

/** Returns the texts of a status code; null: unknown, or FF, which comes with its own text. */
export function intermediateTexts(code: number): Texts | null {
  const own = statuses[codeText(code)];
  if (own) return own;
  if (code < CARD_REMOVAL_MIN || code > CARD_REMOVAL_MAX) return null;
  const plain = statuses[codeText(code - CARD_REMOVAL)];
  if (!plain) return null;
  return inEach((language) => `${plain[language]}. ${texts.removal[language]}`);
}

/** Card type names by the number in field 8A or tag 41 (docs/zvt.md 11.6). */
const cardNames: Readonly<Record<number, string>> = texts.cards;
/** The value of field 8A if the card type stands in tag 41 (docs/zvt.md 7.1). */
const SEE_TAG_41 = 0xff;

/** Returns the name of a card type; undefined: the terminal names none, or the type is unknown. */
export function cardTypeName(cardType: number | undefined, tag41: number | undefined) {
  const number = cardType === undefined || cardType === SEE_TAG_41 ? tag41 : cardType;
  return number === undefined ? undefined : cardNames[number];
}
