import type { Config } from "../../shared/config/config.ts";
import { formatMajor } from "../../shared/money.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { AskedFor } from "./asked-for.ts";
import { checkedOrderFields, cleanText } from "./order-fields.ts";

type Name = Exclude<Extract<keyof Config, `GATEWAY_${string}`>, "GATEWAY_WAIT">;
export type GatewaySettings = Readonly<Pick<Config, Name>>;

/** The value of `manualCapture`: the order is captured when approved (docs/design.md 12.16). */
const CAPTURE_AUTOMATICALLY = "0";

/** Returns the parameters of `generate` (docs/design.md 8.1); null: a field is refused. */
export function orderRequestOf(transaction: Transaction, settings: GatewaySettings) {
  const email = emailOf(transaction);
  const fields = checkedOrderFields({
    wsLogin: settings.GATEWAY_LOGIN,
    wsPassword: settings.GATEWAY_PWD,
    websiteId: settings.GATEWAY_WEBSITE_ID,
    categoryId: settings.GATEWAY_CATEGORY_ID,
    currency: transaction.currency,
    amount: formatMajor(transaction.amountMinor, transaction.exponent),
    rating: settings.GATEWAY_RATING,
    locale: settings.GATEWAY_LOCALE,
    customerIpAddress: settings.GATEWAY_CUSTOMER_IP,
    executionDate: executionDate(transaction.approvedAtMs),
    manualCapture: CAPTURE_AUTOMATICALLY,
    description: `Order ${transaction.orderId}`,
    customerEmail: email.address,
    urlCallback: settings.GATEWAY_CALLBACK_URL,
    merchantReference: transaction.orderId,
  });
  const freeData = freeDataOf(transaction);
  const notes = [...email.notes, ...fields.notes, ...freeData.notes];
  return {
    parameters: fields.values && { ...fields.values, freeData: { item: freeData.items } },
    notes,
    problems: fields.problems,
  };
}

/** Returns what the answer to `generate` must agree with; the answer may leave out any value. */
export function orderAskedFor(transaction: Transaction): AskedFor {
  const { orderId, amountMinor, currency, exponent } = transaction;
  return { merchantReference: orderId, amountMinor, currency, exponent, needed: [] };
}

/** Returns the time as `2026-01-31T12:34:56` in UTC; null: the year does not have four digits. */
function executionDate(atMs: number): string | null {
  const date = new Date(atMs);
  const text = Number.isNaN(date.getTime()) ? "" : date.toISOString();
  return /^\d{4}-/.test(text) ? text.slice(0, "2026-01-31T12:34:56".length) : null;
}

/** The form of a mail address: a name, one @ and a host with a dot; the gateway checks the rest. */
const emailShape = /^[^\s@<>"',;]+@[^\s@<>"',;]+\.[^\s@<>"',;.]+$/;

function emailOf({ customerEmail }: Transaction): { address: string | null; notes: string[] } {
  if (customerEmail === null || customerEmail === "") return { address: null, notes: [] };
  if (emailShape.test(customerEmail)) return { address: customerEmail, notes: [] };
  return { address: null, notes: ["customerEmail does not look like an address: left out"] };
}

/** The prefix of the keys of the kiosk's custom data; no key of our own begins with it. */
const CUSTOM_PREFIX = "custom_";
const CUSTOM_REST = "customData";
const CART = "cart";

/** The characters that may begin an XML name; notifications use the keys as element names. */
const nameStart =
  "A-Z_a-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}" +
  "\\u{200C}\\u{200D}\\u{2070}-\\u{218F}\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}" +
  "\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}";
const xmlName = new RegExp(
  `^[${nameStart}][${nameStart}.0-9\\-\\u{B7}\\u{300}-\\u{36F}\\u{203F}\\u{2040}]*$`,
  "u",
);

/**
 * Returns the free data of an order (docs/design.md 8.2): the ids of the card payment, the kiosk's
 * custom data and the cart. A custom key that is an XML name gets an item of its own; all other
 * keys share one JSON object. An empty cart makes no item (docs/design.md 12.4).
 */
function freeDataOf(transaction: Transaction) {
  const notes: string[] = [];
  const items: { key: string; value: string }[] = [];
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
  for (const [key, value] of Object.entries(card)) if (value) add(key, value);
  const rest: Array<[string, string | number | boolean]> = [];
  for (const [key, value] of Object.entries(transaction.customData)) {
    if (xmlName.test(key)) add(CUSTOM_PREFIX + key, String(value));
    else rest.push([key, value]);
  }
  if (rest.length > 0) add(CUSTOM_REST, JSON.stringify(Object.fromEntries(rest)));
  if (transaction.cart.length > 0) add(CART, JSON.stringify(transaction.cart));
  return { items, notes };
}
