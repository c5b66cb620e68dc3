import { maskPan, maskPansInText } from "../shared/masking/mask.ts";

const DIGITS_MIN = 12;
const PAN_DIGITS_MIN = 13;
const PAN_DIGITS_MAX = 19;

/**
 * The card number at the beginning of a report, masked; null when none is there
 * (docs/concert.md 3.2). Real terminals give it in clear, filled up with zeros: then the last four
 * digits are shown only when one length alone makes a card number.
 */
export function panOfReport(report: string): string | null {
  const [hidden] = /^\d{0,6}[X*#x.]{4,}\d{0,4}/.exec(report) ?? [];
  if (hidden !== undefined) return maskPan(hidden);
  const [digits = ""] = /^\d*/.exec(report) ?? [];
  if (digits.length < DIGITS_MIN || /^0+$/.test(digits)) return null;
  if (digits.length <= PAN_DIGITS_MAX) return maskPan(digits);
  const shortest = Math.max(digits.replace(/0+$/, "").length, PAN_DIGITS_MIN);
  const lengths = Array.from({ length: PAN_DIGITS_MAX + 1 }, (_, length) => length)
    .filter((length) => length >= shortest)
    .filter((length) => hasCheckDigit(digits.slice(0, length)));
  const [length, second] = lengths;
  if (length === undefined || second !== undefined) return `${digits.slice(0, 6)}XXXXXXXXXX`;
  return maskPan(digits.slice(0, length));
}

/** A text of the terminal in which no card number stands in clear. */
export function maskedText(text: string): string {
  return maskPansInText(text);
}

/**
 * As {@link maskedText}, of a field where no long number of another kind belongs: the number may
 * also stand in groups.
 */
export function maskedField(text: string): string {
  return text.replace(/\d(?:[^\dA-Za-z]{0,2}\d){11,}/g, (digits) => maskPan(digits));
}

/**
 * The words of a line for people: cut, without control characters and card numbers. A ticket (ZT,
 * AK) is left out, because its letters may be an encoding in which no card number is seen.
 */
export function shownText(text: string, charactersMax: number): string {
  const [plain = ""] = text.split(/(?<=ZT|AK)/, 1);
  return maskedField(plain.replace(/[^ -~]/g, ".")).slice(0, charactersMax);
}

function hasCheckDigit(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const doubled = Number(digit) * (at % 2 === 0 ? 1 : 2);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
