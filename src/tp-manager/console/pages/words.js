/**
 * The texts of the console in the language of the browser, or in that which was chosen.
 * @typedef {(key: string, values?: Record<string, string | number>) => string} Words
 */

/** @type {Record<string, string>} */
export const languages = { en: "English", fr: "Français", de: "Deutsch" };
const CHOSEN = "console-language";

export function firstLanguage() {
  const chosen = sessionStorage.getItem(CHOSEN);
  const wanted = [chosen ?? "", ...navigator.languages.map((one) => one.slice(0, 2))];
  return wanted.find((one) => languages[one] !== undefined) ?? "en";
}

/**
 * @param {string} language
 * @returns {Promise<Words>}
 */
export async function loadWords(language) {
  sessionStorage.setItem(CHOSEN, language);
  /** @type {{ default: Record<string, string> }} */
  const { default: texts } = await import(`./words/${language}.js`);
  return wordsFrom(texts, language, (key) => key);
}

/**
 * The words with those of a file that only some views need.
 * @param {Words} words
 * @param {string} language
 * @param {string} name
 * @returns {Promise<Words>}
 */
export async function moreWords(words, language, name) {
  /** @type {{ default: Record<string, string> }} */
  const { default: texts } = await import(`./words/${name}-${language}.js`);
  return wordsFrom(texts, language, words);
}

/**
 * @param {Record<string, string>} texts
 * @param {string} language
 * @param {Words} otherwise of a key that is not among them
 * @returns {Words}
 */
function wordsFrom(texts, language, otherwise) {
  const plural = new Intl.PluralRules(language);
  return (key, values = {}) => {
    const isOne = "count" in values && plural.select(Number(values["count"])) === "one";
    const text = (isOne && texts[`${key}.one`]) || texts[key];
    if (text === undefined) return otherwise(key, values);
    const told = text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
    return language === "fr" ? kept(told) : told;
  };
}

/**
 * French signs stay on the line of their word.
 * @param {string} text
 */
function kept(text) {
  return text.replaceAll("« ", "«\u00a0").replace(/ (?=[:;?!»])/g, "\u00a0");
}
