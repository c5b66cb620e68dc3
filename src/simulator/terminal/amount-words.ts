import { number as currencyOfNumber } from "currency-codes";

/** An amount that is paid, as the display and the wire show it. */
export interface ShownAmount {
  readonly amountMinor: number;
  /** ISO 4217 numeric, with or without a leading zero. */
  readonly currency: string;
}

/** As printed, "12.00 EUR". */
export function amountInWords({ amountMinor, currency }: ShownAmount): string {
  const known = currencyOfNumber(currency.slice(-3));
  const digits = known?.digits ?? 2;
  return `${(amountMinor / 10 ** digits).toFixed(digits)} ${known?.code ?? ""}`.trimEnd();
}

/** The letters of a currency; undefined: no currency has this number. */
export function currencyInWords(currency: string): string | undefined {
  return currencyOfNumber(currency.slice(-3))?.code;
}
