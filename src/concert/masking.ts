import { maskPan } from "../shared/masking/mask.ts";
import { textOf } from "./latin-text.ts";

const DIGITS_MIN = 12;
const PAN_DIGITS_MIN = 13;
const PAN_DIGITS_MAX = 19;

/**
 * Returns the masked card number at the beginning of a report; null: there is none (docs/concert.md
 * 3.2). Real terminals send the number in clear, filled up with zeros, so its length is unknown:
 * its last four digits are kept only if exactly one length gives a valid check digit.
 */
export function panOfReport(report: string): string | null {
  const [hidden] = /^\d{0,6}[X*#x.]{4,}\d{0,4}/.exec(report) ?? [];
  if (hidden !== undefined) return maskPan(hidden);
  const [digits = ""] = /^\d*/.exec(report) ?? [];
  if (digits.length < DIGITS_MIN || /^0+$/.test(digits)) return null;
  if (digits.length <= PAN_DIGITS_MAX) return maskPan(digits);
  const shortest = Math.max(digits.replace(/0+$/, "").length, PAN_DIGITS_MIN);
  const lengths = Array.from({ length: PAN_DIGITS_MAX + 1 }, (_, length) => length).filter(
    (length) => length >= shortest && hasCheckDigit(digits.slice(0, length)),
  );
  const [length, second] = lengths;
  if (length === undefined || second !== undefined) return `${digits.slice(0, 6)}XXXXXXXXXX`;
  return maskPan(digits.slice(0, length));
}

/** Returns a text in which every number of 12 or more digits, also in groups, is masked. */
export function maskedField(text: string): string {
  return text.replace(/\d(?:[^\dA-Za-z]{0,2}\d){11,}/g, (digits) => maskPan(digits));
}

/**
 * Returns the text of a message for logs and people: shortened, without control characters and card
 * numbers. A ticket (tag ZT or AK) is left out, because its encoding may hide a card number.
 */
export function safeText(text: string, charactersMax: number): string {
  const [plain = ""] = text.split(/(?<=ZT|AK)/, 1);
  return maskedField(plain.replace(/[^ -~]/g, ".")).slice(0, charactersMax);
}

/**
 * Returns bytes that cannot be read as a message as {@link safeText} without digits, because a
 * wrong bit or a cut hides a card number from the mask. Only the state in tag AE keeps its digits.
 */
export function damagedText(bytes: Uint8Array, charactersMax: number): string {
  const text = textOf(bytes).replace(/AE002\d\d|\d/g, (one) => (one[1] ? one : "#"));
  return safeText(text, charactersMax);
}

/** Returns whether the last digit of a number is the check digit of a card number (Luhn). */
export function hasCheckDigit(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const doubled = Number(digit) * (at % 2 === 0 ? 1 : 2);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
