import { type Currency, parseAmount } from "../../shared/money.ts";
import type { CartLine } from "../../shared/transaction.ts";

/** The first words of the warning that a basket was not forwarded to the gateway. */
export const BASKET_NOT_FORWARDED = "basket not forwarded";

/**
 * Returns the lines of a basket for the gateway (docs/design.md 5.7, 12.3): one cart object or an
 * array of them, of the types good, discount and fee. Each total is unit price × quantity −
 * discount, and the totals add up to the amount. Any other basket gives an empty cart.
 */
export function cartOf(basket: unknown, amountMinor: number, currency: Currency) {
  if (basket === undefined || basket === null) return { cart: [], warning: null };
  const lines: unknown[] = Array.isArray(basket) ? basket : [basket];
  const empty = (why: string) => ({ cart: [], warning: `${BASKET_NOT_FORWARDED}: ${why}` });
  if (lines.length === 0) return { cart: [], warning: null };
  let sumMinor = 0;
  const cart: CartLine[] = [];
  for (const [index, line] of lines.entries()) {
    const checked = checkLine(line, currency);
    if (typeof checked === "string") return empty(`line ${index + 1} ${checked}`);
    sumMinor += checked.totalMinor;
    cart.push(checked.line);
  }
  if (sumMinor !== amountMinor) return empty("its total amounts do not add up to the amount");
  return { cart, warning: null };
}

const textFields = ["product_reference", "name"] as const;

function checkLine(value: unknown, currency: Currency) {
  if (typeof value !== "object" || value === null) return "is not an object";
  const given = value as Record<string, unknown>;
  for (const field of textFields) {
    if (given[field] !== undefined && typeof given[field] !== "string") {
      return `has a ${field} that is not a text`;
    }
  }
  const { type, quantity, european_article_numbering: ean, tax_rate: taxRate } = given;
  if (type !== "good" && type !== "discount" && type !== "fee") {
    return "has a type other than good, discount or fee";
  }
  if (!Number.isSafeInteger(quantity) || (quantity as number) < 1) return "has no whole quantity";
  if (ean !== undefined && typeof ean !== "number" && typeof ean !== "string") {
    return "has a european_article_numbering that is no number";
  }
  if (taxRate !== undefined && typeof taxRate !== "number")
    return "has a tax_rate that is no number";
  const unitMinor = signedMinor(given["unit_price"], currency);
  const discountMinor = signedMinor(given["discount"] ?? 0, currency);
  const totalMinor = signedMinor(given["total_amount"], currency);
  if (unitMinor === null) return "has no unit_price in the currency's decimals";
  if (discountMinor === null) return "has no discount in the currency's decimals";
  if (totalMinor === null) return "has no total_amount in the currency's decimals";
  if (totalMinor !== unitMinor * (quantity as number) - discountMinor) {
    return "has a total_amount other than unit_price × quantity − discount";
  }
  return { line: { ...(given as CartLine), discount: Number(given["discount"] ?? 0) }, totalMinor };
}

/** Returns a basket figure in minor units, zero or negative as well; null for other values. */
function signedMinor(value: unknown, currency: Currency): number | null {
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  if (value === 0) return 0;
  try {
    return Math.sign(value) * parseAmount(String(Math.abs(value)), currency, BASKET_DIGITS_MAX);
  } catch {
    return null;
  }
}

/** The most digits of a basket figure: more than any payment has, and still an exact number. */
const BASKET_DIGITS_MAX = 12;
