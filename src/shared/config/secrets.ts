import { maskPansInText } from "../masking/mask.ts";
import { type ConfigFields, credentialsWithin, mayBePrinted, metaOf } from "./config-field.ts";
import type { Entry } from "./config-file.ts";

/** What stands in a support bundle in place of a secret. */
export const REMOVED = "[removed]";
/** The length from which a secret is removed anywhere; a shorter one only as a whole word. */
const SECRET_ANYWHERE_LENGTH = 4;

type Setting = Pick<Entry, "name" | "value">;

/**
 * The secrets of a setup file: the values that may not be printed, the single ones of a list, the
 * credentials in addresses, and each login with each secret as HTTP writes them. A login by itself
 * is none.
 */
export function secretsOf(settings: readonly Setting[], fields: ConfigFields): string[] {
  const isLogin = ({ name }: Setting): boolean => metaIn(fields, name)?.login === true;
  const hidden = settings.filter((one) => !isLogin(one) && !mayBePrinted(one, fields));
  const pairs = settings
    .filter(isLogin)
    .flatMap((login) => hidden.map(({ value }) => base64(`${login.value}:${value}`)));
  const values = hidden.flatMap(({ name, value }) => [
    value,
    ...(metaIn(fields, name)?.list ? value.split(" ") : []),
    ...credentialsWithin(value),
  ]);
  return [...pairs, ...values];
}

function metaIn(fields: ConfigFields, name: string) {
  const field = fields[name];
  return field && metaOf(field);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Returns what masks card numbers in a text and removes these secrets in all their forms. */
export function secretMask(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(formsOf))].filter((form) => form !== "");
  // Longest first, because one secret may be a part of another.
  const pattern = forms
    .sort((a, b) => b.length - a.length)
    .map(patternOf)
    .join("|");
  const secret = new RegExp(pattern || "(?!)", "gu");
  return (text) => {
    // Secrets are found in the original text: one may be a part of a card number.
    const withoutPans = maskPansInText(text);
    let safe = "";
    let from = 0;
    for (const { 0: found, index } of text.matchAll(secret)) {
      safe += withoutPans.slice(from, index) + REMOVED;
      from = index + found.length;
    }
    return safe + withoutPans.slice(from);
  };
}

/** The forms of a secret in a text, JSON, an address, XML, base64 and a log that masks cards. */
function formsOf(secret: string): string[] {
  const inXml = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
    inXml,
    inXml.replaceAll('"', "&quot;"),
    base64(secret),
    maskPansInText(secret),
  ];
}

function patternOf(form: string): string {
  const literal = form.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const isShort = form.length < SECRET_ANYWHERE_LENGTH;
  return isShort ? `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])` : literal;
}
