/**
 * Keeps card numbers out of everything that is stored, logged or answered (DESIGN 6): at most the
 * first six and last four digits stay.
 */

const KEPT_FIRST = 6;
const KEPT_LAST = 4;
const PAN_DIGITS_MIN = 12;
const PAN_DIGITS_MAX = 19;

/** Masks a card number given as digits, with any character already masking some of them. */
export function maskPan(pan: string): string {
  const length = pan.length;
  if (length <= KEPT_FIRST + KEPT_LAST) return "X".repeat(length);
  return [...pan]
    .map((c, i) => (i < KEPT_FIRST || i >= length - KEPT_LAST ? digitOrMask(c) : "X"))
    .join("");
}

function digitOrMask(c: string): string {
  return c >= "0" && c <= "9" ? c : "X";
}

/** Whether a string of digits has a correct Luhn check digit (ISO/IEC 7812-1 annex B). */
export function hasLuhnCheckDigit(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Runs of 12 digits and more, single blanks, dots or hyphens allowed between them. */
const digitRuns = /\d(?:[ .-]?\d){11,}/g;

/**
 * Replaces every card number in a text, also one inside a longer run of digits. A stretch counts as
 * a card number when scheme prefix, length and check digit fit.
 */
export function maskPansInText(text: string): string {
  return text.replace(digitRuns, maskRun);
}

/**
 * Whether a text holds a run of digits that is, as a whole, a card number. Stricter than the
 * masking: it decides about refusing somebody's order number, and every tenth number of any kind
 * has a correct check digit.
 */
export function containsPan(text: string): boolean {
  return [...text.matchAll(digitRuns)].some(([run]) => isCardNumber(run.replace(/\D/g, "")));
}

function maskRun(run: string): string {
  const digits = run.replace(/\D/g, "");
  const masked = [...digits];
  for (let start = 0; start + PAN_DIGITS_MIN <= digits.length; start++) {
    for (let length = PAN_DIGITS_MAX; length >= PAN_DIGITS_MIN; length--) {
      const candidate = digits.slice(start, start + length);
      if (candidate.length < length || !isCardNumber(candidate)) continue;
      masked.fill("X", start + KEPT_FIRST, start + length - KEPT_LAST);
      break;
    }
  }
  let next = 0;
  return run.replace(/\d/g, () => masked[next++] ?? "X");
}

/** Issuer prefixes (ISO/IEC 7812) with the lengths their schemes use. */
const schemes: ReadonlyArray<{ prefix: RegExp; lengths: readonly [min: number, max: number] }> = [
  { prefix: /^4/, lengths: [13, 19] }, // Visa
  { prefix: /^5[1-5]/, lengths: [16, 16] }, // Mastercard
  { prefix: /^2(22[1-9]|2[3-9]|[3-6]|7[01]|720)/, lengths: [16, 16] }, // Mastercard
  { prefix: /^3[47]/, lengths: [15, 15] }, // American Express
  { prefix: /^3(0[0-5]|[689])/, lengths: [14, 19] }, // Diners
  { prefix: /^35(2[89]|[3-8])/, lengths: [16, 19] }, // JCB
  { prefix: /^6(011|4[4-9]|5|2)/, lengths: [16, 19] }, // Discover, UnionPay
  { prefix: /^(50|5[6-8]|6)/, lengths: [12, 19] }, // Maestro, girocard
];

function isCardNumber(digits: string): boolean {
  return (
    schemes.some(
      ({ prefix, lengths: [min, max] }) =>
        digits.length >= min && digits.length <= max && prefix.test(digits),
    ) && hasLuhnCheckDigit(digits)
  );
}
