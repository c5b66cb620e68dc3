/**
 * Returns a text of the console in one language, with its values filled in.
 * @typedef {((key: string, values?: Record<string, string | number>) => string) &
 *   { readonly language: string }} Texts
 */

/** @type {Record<string, string>} */
export const languages = {
  en: "English",
  fr: "Français",
  de: "Deutsch",
  it: "Italiano",
  es: "Español",
};
const CHOSEN = "chosen-language";

/** Returns the language chosen in this tab, or else the browser's first one that the page has. */
export function firstLanguage() {
  const chosen = sessionStorage.getItem(CHOSEN);
  const wanted = [chosen ?? "", ...navigator.languages.map((one) => one.slice(0, 2))];
  return wanted.find((one) => languages[one] !== undefined) ?? "en";
}

/** @param {string} language */
export async function loadTexts(language) {
  sessionStorage.setItem(CHOSEN, language);
  return textsFrom(await catalogue(language), language, (key) => key);
}

/**
 * Returns the texts together with those of a catalogue that only some views need.
 * @param {Texts} texts
 * @param {string} name
 */
export async function moreTexts(texts, name) {
  const { language } = texts;
  return textsFrom(await catalogue(`${name}-${language}`), language, texts);
}

/**
 * @param {string} name
 * @returns {Promise<Record<string, string>>}
 */
async function catalogue(name) {
  const response = await fetch(`texts/${name}.json`, { cache: "no-store", credentials: "omit" });
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return await response.json();
}

/**
 * @param {Record<string, string>} entries
 * @param {string} language
 * @param {(key: string, values: Record<string, string | number>) => string} otherwise gives the
 *   text of a key that is not among the entries
 * @returns {Texts}
 */
function textsFrom(entries, language, otherwise) {
  const plural = new Intl.PluralRules(language);
  const textOf = (/** @type {string} */ key, /** @type {Record<string, any>} */ values = {}) => {
    const isOne = "count" in values && plural.select(Number(values["count"])) === "one";
    const text = (isOne && entries[`${key}.one`]) || entries[key];
    if (text === undefined) return otherwise(key, values);
    const filled = text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
    return language === "fr" ? withFixedSpaces(filled) : filled;
  };
  return Object.assign(textOf, { language });
}

/**
 * The spaces of French signs become no-break spaces: a sign stays on the line of its word.
 * @param {string} text
 */
function withFixedSpaces(text) {
  return text.replaceAll("« ", "«\u00a0").replace(/ (?=[:;?!»])/g, "\u00a0");
}
