import { containsPan, maskPansInText } from "../shared/masking/mask.ts";
import { AmountError, type Currency, formatMajor, parseAmount } from "../shared/money.ts";
import { RECEIPT_AMOUNT_DIGITS } from "../shared/receipt.ts";
import { readPairs } from "./pairs.ts";

/** Longer texts are cut: a message may have a million characters, and texts are stored. */
const SAFE_MAX = 200;

/** Returns a text of a terminal as it may be stored: without card numbers, and short. */
export function safeText(text: string): string {
  return maskPansInText(text).slice(0, SAFE_MAX);
}

/**
 * Returns a terminal's id, which must stay as it is; null: it holds a card number, is long, or is
 * empty, which a terminal reads as its last transaction.
 */
export function safeId(id: string | undefined): string | null {
  return !id?.trim() || id.length > SAFE_MAX || containsPan(id) ? null : id;
}

/** Returns an amount as a message has it: a JSON number in major units. */
export function majorNumber(amountMinor: number, { exponent }: Currency): number {
  return Number(formatMajor(amountMinor, exponent));
}

/** Returns an amount in minor units; null: it is none, or more than a receipt holds. */
export function minorOf(text: string | undefined, currency: Currency | undefined): number | null {
  if (text === undefined || currency === undefined) return null;
  try {
    return parseAmount(text, currency, RECEIPT_AMOUNT_DIGITS);
  } catch (error) {
    if (error instanceof AmountError) return null;
    throw error;
  }
}

/** Returns a time stamp in epoch ms; without a zone it is in UTC. null: it is no time stamp. */
export function timeOf(timeStamp: string | undefined): number | null {
  const form = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,7})?)(Z|[+-]\d\d:?\d\d)?$/;
  const [, time, zone = "Z"] = form.exec(timeStamp ?? "") ?? [];
  const ms = time === undefined ? Number.NaN : Date.parse(time + zone);
  return Number.isNaN(ms) ? null : ms;
}

/** Returns the line of a receipt as people read it; "" for a blank line (docs/nexo.md 10.1). */
export function receiptLine(text: string): string {
  const pairs = readPairs(text);
  const [name, value] = [pairs.get("name") ?? "", pairs.get("value") ?? ""];
  const line = pairs.has("key") ? [name, value].filter(Boolean).join(" ") : text;
  return line.replace(/\s+/g, " ").trim();
}

/** A name of a certificate: of one terminal, or of any terminal of the environment. */
type CertificateName =
  | { readonly of: "terminal"; readonly model: string; readonly serial: string }
  | { readonly of: "any-terminal" };

/**
 * Reads the common name of a terminal's certificate, which never is the name of its host. null: it
 * is no name of a terminal, or of one of the other environment (docs/nexo.md 2.2).
 */
export function readCommonName(name: string, environment: "test" | "live"): CertificateName | null {
  const suffix = `.${environment}.terminal.adyen.com`;
  if (!name.endsWith(suffix)) return null;
  const label = name.slice(0, -suffix.length);
  if (label === "legacy-terminal-certificate") return { of: "any-terminal" };
  const [, model, serial] = /^([A-Za-z0-9]{3,})-([A-Za-z0-9]{9,15})$/.exec(label) ?? [];
  return model && serial ? { of: "terminal", model, serial } : null;
}
