import { code } from "currency-codes";

/** A currency that can be paid in (ISO 4217). */
export interface Currency {
  /** The alpha code: three capital letters. */
  readonly alpha: string;
  /** The numeric code: three digits. */
  readonly numeric: string;
  /** Digits after the decimal point: 2 for EUR, 0 for JPY. */
  readonly exponent: number;
}

/** The package assigns metals and test codes to invented countries whose names begin with this. */
const NO_COUNTRY = "Zz";

/** The codes of funds and units of account of real countries, in which no sale is paid. */
const funds = new Set("BOV CHE CHW CLF COU MXV USN USS UYI UYW XDR XSU XUA".split(" "));

/** The currencies found so far; the package would search its whole list again each time. */
const known = new Map<string, Currency>();

/** Returns the currency of an ISO 4217 alpha code; undefined: no sale can be paid in it. */
export function currencyOf(alpha: string): Currency | undefined {
  const found = known.get(alpha) ?? lookUp(alpha);
  if (found) known.set(alpha, found);
  return found;
}

function lookUp(alpha: string): Currency | undefined {
  if (!/^[A-Z]{3}$/.test(alpha)) return undefined;
  const record = code(alpha);
  if (!record || funds.has(alpha) || record.countries[0]?.startsWith(NO_COUNTRY)) return undefined;
  return { alpha: record.code, numeric: record.number, exponent: record.digits };
}

export class AmountError extends Error {
  override readonly name = "AmountError";
}

/** The longest text that is read as an amount; longer texts, even of zeros, are refused. */
const NUMBER_CHARACTERS_MAX = 40;

/**
 * Converts an amount as JSON writes it into minor units, without a float in between: "8.99" EUR is
 * 899, "100" JPY is 100. Throws {@link AmountError}, with what to write instead, if the amount is
 * not positive, has more decimals than the currency, or more minor digits than `digitsMax`.
 */
export function parseAmount(source: string, currency: Currency, digitsMax: number): number {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(source);
  if (!parts || source.length > NUMBER_CHARACTERS_MAX) {
    throw new AmountError("must be a plain number in major units, for example 9.99");
  }
  const [, sign, whole = "", fraction = "", power = "0"] = parts;
  const shift = Number(power) + currency.exponent - fraction.length;
  const digits = (whole + fraction).replace(/^0+/, "");
  if (sign === "-" || digits === "") throw new AmountError("must be greater than 0");
  const kept = shift < 0 ? digits.slice(0, shift) : digits;
  const cut = shift < 0 ? digits.slice(shift) : "";
  if (/[1-9]/.test(cut)) {
    throw new AmountError(
      `has more decimals than ${currency.alpha} allows, which is ${currency.exponent}`,
    );
  }
  const minor = kept + "0".repeat(Math.max(shift, 0));
  if (minor.length > digitsMax) {
    throw new AmountError(`is above ${formatMajor(10 ** digitsMax - 1, currency.exponent)}`);
  }
  return Number(minor);
}

/** Returns major units as text with all decimals: 899 with exponent 2 is "8.99". */
export function formatMajor(amountMinor: number, exponent: number): string {
  const digits = String(Math.abs(amountMinor)).padStart(exponent + 1, "0");
  const sign = amountMinor < 0 ? "-" : "";
  if (exponent === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

type Decimals = Pick<Currency, "exponent">;

/** Returns major units as the number of a JSON answer: 899 euro cents are 8.99. */
export function majorOf(amountMinor: number, currency: Decimals): number;
export function majorOf(amountMinor: number | null, currency: Decimals): number | null;
export function majorOf(amountMinor: number | null, { exponent }: Decimals): number | null {
  return amountMinor === null ? null : Number(formatMajor(amountMinor, exponent));
}
