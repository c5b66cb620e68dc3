import { randomUUID } from "node:crypto";
import { AppError } from "../../shared/errors.ts";
import { containsPan } from "../../shared/mask.ts";
import { AmountError, type Currency, currencyOf, parseAmount } from "../../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../../shared/receipt.ts";
import type { DeliveryTerms, Echo, PaymentRequest } from "../attempts/payment.ts";
import { cartOf } from "../orders/basket-check.ts";
import { isObject, JsonNumber, leaves, plain } from "./json-body.ts";

/** One fault of a request, as `error.details.faults` lists it. */
interface Fault {
  readonly field: string;
  readonly message: string;
}

const fields = [
  "amount",
  "orderId",
  "currency",
  "basket",
  "customer",
  "customData",
  "delivery",
] as const;
/** The window of a two-phase sale; the wire's own exceeds it by a margin (docs/zvt.md 8.2). */
const DELIVERY_SECONDS_MAX = 180;
const ORDER_ID_LENGTH_MAX = 64;
const EMAIL_LENGTH_MAX = 254;

/**
 * Checks a payment request (docs/design.md 5.6, 12.3) and names every fault at once.
 * Throws {@link AppError} REQUEST_INVALID or CARD_DATA_REFUSED.
 */
export function readPaymentRequest(
  body: Record<string, unknown>,
  defaultCurrency: string,
): PaymentRequest {
  refuseCardData(body);
  const faults: Fault[] = unknownFields(body);
  const currency = readCurrency(body["currency"], defaultCurrency, faults);
  const amountMinor = readAmount(body["amount"], currency, faults);
  const orderId = readOrderId(body["orderId"], faults);
  const customer = readCustomer(body["customer"], faults);
  const customData = readCustomData(body["customData"], faults);
  const delivery = readDelivery(body["delivery"], faults);
  if (faults.length > 0 || !currency || amountMinor === undefined) {
    throw new AppError(
      "REQUEST_INVALID",
      faults.map(({ field, message }) => `${field} ${message}`).join("; "),
      { details: { faults } },
    );
  }
  const basket = plain(body["basket"]);
  const { cart, warning } = cartOf(basket, amountMinor, currency);
  return {
    orderId: orderId ?? randomUUID(),
    generatedId: orderId === undefined,
    amountMinor,
    currency,
    echo: echoOf(body),
    cart,
    customerEmail: customer.email,
    customData,
    delivery,
    warnings: warning === null ? [] : [warning],
  };
}

function unknownFields(body: Record<string, unknown>): Fault[] {
  return Object.keys(body)
    .filter((name) => !(fields as readonly string[]).includes(name))
    .map((field) => ({ field, message: `is not a known field (known: ${fields.join(", ")})` }));
}

/** Card numbers have no business in a request: they would travel to logs, disk and gateway. */
function refuseCardData(body: Record<string, unknown>): void {
  for (const { path, text } of leaves(body, "")) {
    // Article numbers of 13 digits look like card numbers one time in ten.
    if (/^basket.*\.european_article_numbering$/.test(path)) continue;
    if (containsPan(text)) {
      throw new AppError("CARD_DATA_REFUSED", `${path} holds what looks like a card number.`, {
        details: { field: path },
      });
    }
  }
}

function readAmount(
  value: unknown,
  currency: Currency | undefined,
  faults: Fault[],
): number | undefined {
  if (!(value instanceof JsonNumber)) {
    const message =
      value === undefined ? "is missing, for example 9.99" : "must be a number, for example 9.99";
    faults.push({ field: "amount", message });
    return undefined;
  }
  if (!currency) return undefined;
  try {
    return parseAmount(value.source, currency, RECEIPT_AMOUNT_DIGITS);
  } catch (error) {
    if (!(error instanceof AmountError)) throw error;
    faults.push({ field: "amount", message: error.message });
    return undefined;
  }
}

function readCurrency(
  value: unknown,
  defaultCurrency: string,
  faults: Fault[],
): Currency | undefined {
  const currency = typeof value === "string" ? currencyOf(value) : undefined;
  if (value === undefined || value === null) return currencyOf(defaultCurrency);
  if (!currency) faults.push({ field: "currency", message: "must be an ISO 4217 code like EUR" });
  return currency;
}

function readOrderId(value: unknown, faults: Fault[]): string | undefined {
  if (value === undefined || value === null) return undefined;
  const good =
    typeof value === "string" &&
    value.length >= 1 &&
    value.length <= ORDER_ID_LENGTH_MAX &&
    value.isWellFormed() &&
    !/\p{Cc}/u.test(value);
  if (good) return value;
  const message = `must be a text of 1 to ${ORDER_ID_LENGTH_MAX} characters`;
  faults.push({ field: "orderId", message });
  return undefined;
}

/** Both spellings of the names are known; what else a customer carries is echoed only. */
function readCustomer(value: unknown, faults: Fault[]): { email: string | null } {
  if (value === undefined || value === null) return { email: null };
  if (!isObject(value)) {
    faults.push({ field: "customer", message: "must be an object" });
    return { email: null };
  }
  for (const name of ["firstname", "lastname", "firstName", "lastName", "email"]) {
    const member = value[name];
    if (member !== undefined && member !== null && typeof member !== "string") {
      faults.push({ field: `customer.${name}`, message: "must be a text" });
    }
  }
  const id = value["id"];
  const isId = id instanceof JsonNumber && Number.isInteger(id.value);
  if (id !== undefined && id !== null && !isId) {
    faults.push({ field: "customer.id", message: "must be a whole number" });
  }
  const email = value["email"];
  if (typeof email !== "string" || email === "") return { email: null };
  if (email.length > EMAIL_LENGTH_MAX || !/^[^\s@]+@[^\s@]+$/.test(email)) {
    faults.push({ field: "customer.email", message: "must be an e-mail address" });
  }
  return { email };
}

function readCustomData(
  value: unknown,
  faults: Fault[],
): Record<string, string | number | boolean> {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) {
    faults.push({ field: "customData", message: "must be an object" });
    return {};
  }
  for (const [key, member] of Object.entries(value)) {
    const simple =
      typeof member === "string" || typeof member === "boolean" || member instanceof JsonNumber;
    if (!simple) {
      const field = `customData.${key}`;
      faults.push({ field, message: "must be a boolean, a number or a text" });
    }
  }
  return plain(value) as Record<string, string | number | boolean>;
}

/** docs/design.md 5.12: `{"withinSeconds": 30}`. */
function readDelivery(value: unknown, faults: Fault[]): DeliveryTerms | null {
  if (value === undefined || value === null) return null;
  const seconds = isObject(value) ? value["withinSeconds"] : undefined;
  const good =
    isObject(value) &&
    Object.keys(value).length === 1 &&
    seconds instanceof JsonNumber &&
    Number.isInteger(seconds.value) &&
    seconds.value >= 1 &&
    seconds.value <= DELIVERY_SECONDS_MAX;
  if (good) return { withinSeconds: seconds.value };
  const message = `must be {"withinSeconds": 1 to ${DELIVERY_SECONDS_MAX}}`;
  faults.push({ field: "delivery", message });
  return null;
}

/** Members that were not sent are not echoed. */
function echoOf(body: Record<string, unknown>): Echo {
  const { amount, basket, customer, customData } = plain(body) as Record<string, unknown>;
  return {
    amount: amount as number,
    ...(basket === undefined ? {} : { basket }),
    ...(customer === undefined ? {} : { customer }),
    ...(customData === undefined ? {} : { customData }),
  };
}
