/**
 * The browser's own kind of a language: "en" alone writes days as in the United States.
 * @param {string} language
 */
export function localeOf(language) {
  return navigator.languages.find((one) => one.startsWith(`${language}-`)) ?? language;
}

/**
 * The time, with the day unless it is today.
 * @param {string | null | undefined} iso
 * @param {string} language
 */
export function timeOf(iso, language) {
  if (!iso) return "";
  const at = new Date(iso);
  const today = at.toDateString() === new Date().toDateString();
  /** @type {Intl.DateTimeFormatOptions} */
  const form = today ? { timeStyle: "medium" } : { dateStyle: "short", timeStyle: "medium" };
  return new Intl.DateTimeFormat(localeOf(language), form).format(at);
}

/**
 * The zone of every time that the page shows, the browser's: "Europe/Berlin (GMT+1)".
 * @param {string} language
 */
export function zoneOf(language) {
  const form = new Intl.DateTimeFormat(localeOf(language), { timeZoneName: "shortOffset" });
  const offset = form.formatToParts(new Date()).find(({ type }) => type === "timeZoneName")?.value;
  return `${form.resolvedOptions().timeZone} (${offset})`;
}

/**
 * @param {number} bytes
 * @param {string} language
 */
export function gigabytes(bytes, language) {
  const form = new Intl.NumberFormat(localeOf(language), {
    style: "unit",
    unit: "gigabyte",
    maximumFractionDigits: 1,
  });
  return form.format(bytes / 1e9);
}

/**
 * A day "2026-11-23" as the language writes it.
 * @param {string} date
 * @param {string} language
 */
export function dayOf(date, language) {
  const form = new Intl.DateTimeFormat(localeOf(language), { dateStyle: "long", timeZone: "UTC" });
  return form.format(new Date(`${date}T00:00:00Z`));
}

/**
 * The day and time of a terminal's own clock: "1123", month and day, and "063411".
 * @param {string | null | undefined} date
 * @param {string | null | undefined} time
 * @param {string} language
 */
export function terminalTimeOf(date, time, language) {
  const [, month, day] = /^(\d\d)(\d\d)$/.exec(date ?? "") ?? [];
  const [, hour, minute, second] = /^(\d\d)(\d\d)(\d\d)$/.exec(time ?? "") ?? [];
  if (!day || !second) return [date, time].filter((one) => one).join(" ");
  const form = new Intl.DateTimeFormat(localeOf(language), {
    day: "2-digit",
    month: "2-digit",
    timeZone: "UTC",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  // A leap year, which has every day.
  const at = Date.UTC(2028, Number(month) - 1, Number(day), Number(hour), Number(minute));
  return form.format(at + 1_000 * Number(second));
}

/**
 * "12.50 EUR" as the language writes it.
 * @param {number | null | undefined} amount in major units
 * @param {string} currency
 * @param {string} language
 */
export function money(amount, currency, language) {
  if (amount === null || amount === undefined) return "";
  return new Intl.NumberFormat(localeOf(language), {
    style: "currency",
    currency,
    currencyDisplay: "code",
  }).format(amount);
}

/**
 * A number for a field: with the language's decimal sign and nothing else.
 * @param {number} amount
 * @param {string} language
 */
export function plainNumber(amount, language) {
  const form = { useGrouping: false, maximumFractionDigits: 4 };
  return new Intl.NumberFormat(localeOf(language), form).format(amount);
}

/**
 * @param {number | null | undefined} minor
 * @param {string} currency
 * @param {string} language
 */
export function moneyOfMinor(minor, currency, language) {
  if (minor === null || minor === undefined) return "";
  const form = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions();
  return money(minor / 10 ** (form.maximumFractionDigits ?? 2), currency, language);
}
