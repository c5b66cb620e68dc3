import currencyCodes from "currency-codes";

/** Amounts are whole minor units inside; no float arithmetic anywhere. */

/** Fraction digits of a currency (ISO 4217), or nothing for a code that does not exist. */
export function currencyDecimals(currency: string): number | undefined {
  return currencyCodes.code(currency)?.digits;
}

const AMOUNT_DIGITS_MAX = 15;

/**
 * Minor units of a decimal text, also with an exponent as clients print an xsd:float. Nothing when
 * it is no number, negative, too long or finer than the currency.
 */
export function parseAmount(text: string, decimals: number): number | undefined {
  const match = /^\+?(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (!match || match[1] === undefined || match[2] === undefined) return undefined;
  const digits = match[1] + match[2];
  if (digits === "") return undefined;
  const shift = Number(match[3] ?? 0) - match[2].length + decimals;
  if (shift >= 0) return minorUnits(digits.padEnd(digits.length + Math.min(shift, 400), "0"));
  const kept = digits.slice(0, Math.max(digits.length + shift, 0));
  const cut = digits.slice(kept.length);
  return /^0*$/.test(cut) ? minorUnits(kept) : undefined;
}

function minorUnits(digits: string): number | undefined {
  const significant = digits.replace(/^0+/, "");
  return significant.length > AMOUNT_DIGITS_MAX ? undefined : Number(significant);
}

/** 1999 with two decimals is "19.99". */
export function formatAmount(minor: number, decimals: number): string {
  const digits = String(minor).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 ? whole : `${whole}.${digits.slice(digits.length - decimals)}`;
}

/** As an xsd:float is printed: without the zeros at the end ("4", "9.99"; docs/gateway.md 2.3). */
export function formatFloat(minor: number, decimals: number): string {
  const text = formatAmount(minor, decimals);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
