import type { Transaction } from "../../shared/transaction.ts";
import { cleanText } from "./order-fields.ts";

type FreeDataItem = { readonly key: string; readonly value: string };

/** Names of our own items. None begins with {@link CUSTOM_PREFIX}, so none can be taken over. */
const CUSTOM_PREFIX = "custom_";
const CUSTOM_REST = "customData";
const CART = "cart";

/** A name of XML 1.0 (2.3) without colons: keys become element names in the notifications. */
const nameStart =
  "A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}" +
  "\\u{200C}\\u{200D}\\u{2070}-\\u{218F}\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}" +
  "\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}";
const xmlName = new RegExp(
  `^[${nameStart}][${nameStart}.0-9\\-\\u{B7}\\u{300}-\\u{36F}\\u{203F}\\u{2040}]*$`,
  "u",
);

/**
 * The free data of an order (docs/design.md 8.2): what identifies the card payment, then the
 * kiosk's custom data, then the cart. A custom key that is an XML name travels as an item of its
 * own; the other ones together as one JSON object. An empty cart sends no item
 * (docs/design.md 12.4).
 */
export function freeDataOf(transaction: Transaction): {
  readonly items: readonly FreeDataItem[];
  readonly notes: readonly string[];
} {
  const notes: string[] = [];
  const items: FreeDataItem[] = [];
  const add = (key: string, value: string): void => {
    const cleaned = cleanText(value);
    if (cleaned !== value)
      notes.push(`free data ${key}: characters that XML cannot carry replaced`);
    items.push({ key, value: cleaned });
  };
  const card = {
    transactionId: transaction.transactionId,
    maskedPan: transaction.maskedPan,
    authorisationNumber: transaction.authorisationNumber,
    terminalId: transaction.terminalId,
    receiptNumber: transaction.receiptNumber,
    cardName: transaction.cardName,
  };
  for (const [key, value] of Object.entries(card)) {
    if (value !== null && value !== "") add(key, value);
  }
  const rest: Array<[string, string | number | boolean]> = [];
  for (const [key, value] of Object.entries(transaction.customData)) {
    if (xmlName.test(key)) add(CUSTOM_PREFIX + key, String(value));
    else rest.push([key, value]);
  }
  if (rest.length > 0) add(CUSTOM_REST, JSON.stringify(Object.fromEntries(rest)));
  if (transaction.cart.length > 0) add(CART, JSON.stringify(transaction.cart));
  return { items, notes };
}
