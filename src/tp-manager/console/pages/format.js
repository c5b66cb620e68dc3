/** @typedef {{ readonly language: string }} Texts */

/**
 * Returns the language with the browser's region: "en" alone writes days as in the USA.
 * @param {Texts} texts
 */
export function localeOf({ language }) {
  return navigator.languages.find((one) => one.startsWith(`${language}-`)) ?? language;
}

/**
 * Returns the time of day, after the day unless the day is today.
 * @param {string | null | undefined} iso
 * @param {Texts} texts
 * @param {boolean} [withDay] the day stands there even if it is today
 */
export function timeOf(iso, texts, withDay = false) {
  if (!iso) return "";
  const at = new Date(iso);
  const today = !withDay && at.toDateString() === new Date().toDateString();
  /** @type {Intl.DateTimeFormatOptions} */
  const form = today ? { timeStyle: "medium" } : { dateStyle: "short", timeStyle: "medium" };
  return new Intl.DateTimeFormat(localeOf(texts), form).format(at);
}

/**
 * Returns the browser's time zone, in which the page writes every time: "Europe/Berlin (GMT+1)".
 * @param {Texts} texts
 */
export function zoneOf(texts) {
  const form = new Intl.DateTimeFormat(localeOf(texts), { timeZoneName: "shortOffset" });
  const offset = form.formatToParts(new Date()).find(({ type }) => type === "timeZoneName")?.value;
  return `${form.resolvedOptions().timeZone} (${offset})`;
}

/**
 * @param {number} bytes
 * @param {Texts} texts
 */
export function gigabytes(bytes, texts) {
  const form = new Intl.NumberFormat(localeOf(texts), {
    style: "unit",
    unit: "gigabyte",
    maximumFractionDigits: 1,
  });
  return form.format(bytes / 1e9);
}

/**
 * Returns a day such as "2026-11-23" as the language writes it.
 * @param {string} date
 * @param {Texts} texts
 */
export function dayOf(date, texts) {
  const form = new Intl.DateTimeFormat(localeOf(texts), { dateStyle: "long", timeZone: "UTC" });
  return form.format(new Date(`${date}T00:00:00Z`));
}

/**
 * The day and time of a terminal's own clock, which come as "1123" (month and day) and "063411".
 * @param {string | null | undefined} date
 * @param {string | null | undefined} time
 * @param {Texts} texts
 */
export function terminalTimeOf(date, time, texts) {
  const [, month, day] = /^(\d\d)(\d\d)$/.exec(date ?? "") ?? [];
  const [, hour, minute, second] = /^(\d\d)(\d\d)(\d\d)$/.exec(time ?? "") ?? [];
  if (!day || !second) return [date, time].filter((one) => one).join(" ");
  const form = new Intl.DateTimeFormat(localeOf(texts), {
    day: "2-digit",
    month: "2-digit",
    timeZone: "UTC",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  // The year 2028 is a leap year and so has every day.
  const at = Date.UTC(2028, Number(month) - 1, Number(day), Number(hour), Number(minute));
  return form.format(at + 1_000 * Number(second));
}

/**
 * Returns an amount such as "12.50 EUR" as the language writes it.
 * @param {number | null | undefined} amount in major units
 * @param {string} currency
 * @param {Texts} texts
 */
export function money(amount, currency, texts) {
  if (amount === null || amount === undefined) return "";
  return new Intl.NumberFormat(localeOf(texts), {
    style: "currency",
    currency,
    currencyDisplay: "code",
  }).format(amount);
}

/**
 * Returns a number for an input field, with the language's decimal sign and no other sign.
 * @param {number} amount
 * @param {Texts} texts
 */
export function plainNumber(amount, texts) {
  const form = { useGrouping: false, maximumFractionDigits: 4 };
  return new Intl.NumberFormat(localeOf(texts), form).format(amount);
}

/**
 * @param {number | null | undefined} minor
 * @param {string} currency
 * @param {Texts} texts
 */
export function moneyOfMinor(minor, currency, texts) {
  return minor === null || minor === undefined
    ? ""
    : money(majorOf(minor, currency), currency, texts);
}

/**
 * Returns an amount in major units: 12.5 for 1250 cents.
 * @param {number} minor
 * @param {string} currency
 */
export function majorOf(minor, currency) {
  const form = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions();
  return minor / 10 ** (form.maximumFractionDigits ?? 2);
}
