import { formatMajor } from "../../shared/money.ts";
import type { Transaction } from "../../shared/transaction.ts";
import type { AskedFor } from "./asked-for.ts";
import { freeDataOf } from "./free-data.ts";
import { fitOrderFields } from "./order-fields.ts";
import type { OrderParameters } from "./order-writer.ts";

/** The part of the configuration that goes into every order. */
export interface OrderSettings {
  readonly login: string;
  readonly password: string;
  readonly websiteId: string;
  readonly categoryId: string;
  readonly rating: string;
  readonly locale: string;
  readonly customerIp: string;
  readonly callbackUrl: string;
}

export interface OrderRequest {
  /** null when the transaction cannot be sent as it is. */
  readonly parameters: OrderParameters | null;
  readonly notes: readonly string[];
  readonly problems: readonly string[];
}

/** 0: captured at once when approved (docs/design.md 12.16). */
const CAPTURE_AUTOMATICALLY = "0";

/** One transaction as the parameters of `generate` (docs/design.md 8.1). */
export function orderRequestOf(transaction: Transaction, settings: OrderSettings): OrderRequest {
  const email = emailOf(transaction);
  const fields = fitOrderFields({
    wsLogin: settings.login,
    wsPassword: settings.password,
    websiteId: settings.websiteId,
    categoryId: settings.categoryId,
    currency: transaction.currency,
    amount: formatMajor(transaction.amountMinor, transaction.exponent),
    rating: settings.rating,
    locale: settings.locale,
    customerIpAddress: settings.customerIp,
    executionDate: executionDate(transaction.approvedAtMs),
    manualCapture: CAPTURE_AUTOMATICALLY,
    description: `Order ${transaction.orderId}`,
    customerEmail: email.address,
    urlCallback: settings.callbackUrl,
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

/** The order that the answer to `generate` is about; the result need name nothing of it. */
export function orderAskedFor(transaction: Transaction): AskedFor {
  const { orderId, amountMinor, currency, exponent } = transaction;
  return { merchantReference: orderId, amountMinor, currency, exponent, needed: [] };
}

/** `Y-m-dTH:i:s`, in UTC; null for a time outside the years of four digits. */
function executionDate(atMs: number): string | null {
  const date = new Date(atMs);
  const text = Number.isNaN(date.getTime()) ? "" : date.toISOString();
  return /^\d{4}-/.test(text) ? text.slice(0, "2026-01-31T12:34:56".length) : null;
}

/** Something before one @ and a host with a dot after it; the gateway checks the rest. */
const emailShape = /^[^\s@<>"',;]+@[^\s@<>"',;]+\.[^\s@<>"',;.]+$/;

function emailOf({ customerEmail }: Transaction): { address: string | null; notes: string[] } {
  if (customerEmail === null || customerEmail === "") return { address: null, notes: [] };
  if (emailShape.test(customerEmail)) return { address: customerEmail, notes: [] };
  return { address: null, notes: ["customerEmail does not look like an address: left out"] };
}
