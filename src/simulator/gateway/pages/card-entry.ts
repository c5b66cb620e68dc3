import { testCard } from "./test-cards.ts";
import type { Texts } from "./texts.ts";

/** The customer's entries on the payment page, without the card's number and security code. */
interface Entry {
  readonly email: string;
  readonly country: string;
  readonly holder: string;
}

/** Which words of the page say what was wrong. */
export type EntryFault = Extract<keyof Texts, `wrong${string}`>;

/** The customer's former entries, and their fault; never a card number. */
export interface Retry {
  readonly entry: Entry;
  readonly fault: EntryFault;
}

type CheckedEntry =
  | { readonly entry: Entry; readonly card: NonNullable<ReturnType<typeof testCard>> }
  | Retry;

/** Reads the page's form. Number and security code stay in here. */
export function checkEntry(form: URLSearchParams, nowMs: number): CheckedEntry {
  const field = (name: string, lengthMax: number): string =>
    (form.get(name) ?? "").trim().slice(0, lengthMax);
  const country = field("country", 2).toUpperCase();
  const entry: Entry = {
    email: field("email", 256),
    country: /^[A-Z]{2}$/.test(country) ? country : "FR",
    holder: field("tokenCardHolder", 64),
  };
  const card = testCard(field("tokenCardNumber", 40).replace(/[ -]/g, ""));
  if (!/^[^\s@]+@[^\s@]+$/.test(entry.email) || entry.email.length > 255) {
    return { entry, fault: "wrongEmail" };
  }
  if (!card) return { entry, fault: "wrongNumber" };
  if (entry.holder === "") return { entry, fault: "wrongHolder" };
  const month = field("tokenCardExpiryDateMonth", 2);
  const year = field("tokenCardExpiryDateYear", 4);
  if (!isOpen(month, year, nowMs)) return { entry, fault: "wrongExpiry" };
  if (!/^\d{3,4}$/.test(field("tokenCardSecurityCode", 5))) return { entry, fault: "wrongCode" };
  return { entry, card };
}

/** A card is good to the last day of its month. */
function isOpen(month: string, year: string, nowMs: number): boolean {
  if (!/^(0?[1-9]|1[0-2])$/.test(month) || !/^\d{4}$/.test(year)) return false;
  return Date.UTC(Number(year), Number(month), 1) > nowMs;
}
