import { maskPansInText } from "../masking/mask.ts";
import { type ConfigFields, credentialsWithin, mayBePrinted, metaOf } from "./config-field.ts";
import type { Entry } from "./config-file.ts";

/** The text that replaces a secret in a support bundle. */
export const REMOVED = "[removed]";
/** Secrets from this length on are removed even inside words; shorter ones only as whole words. */
const SECRET_ANYWHERE_LENGTH = 4;

type Setting = Pick<Entry, "name" | "value">;

/**
 * Returns the secrets of a setup file: values that may not be printed, list elements, credentials
 * in addresses, and each login with each secret as HTTP Basic encodes them. A login alone is none.
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
    ...(metaIn(fields, name)?.pair ? [value.slice(value.indexOf(":") + 1)] : []),
    ...credentialsWithin(value),
  ]);
  return [...pairs, ...values];
}

function metaIn(fields: ConfigFields, name: string) {
  const field = fields[name];
  return field && metaOf(field);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Returns a function that masks card numbers and removes these secrets in all their forms. */
export function secretMask(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(formsOf))].filter((form) => form !== "");
  // The longest form is removed first, because one secret may be a part of another secret.
  const pattern = forms
    .sort((a, b) => b.length - a.length)
    .map(patternOf)
    .join("|");
  const secret = new RegExp(pattern || "(?!)", "gu");
  return (text) => {
    // Secrets are searched in the text before masking: a secret may be part of a card number.
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

/** Returns a secret in the forms of text, JSON, URL, XML and base64, and as a log masks it. */
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
