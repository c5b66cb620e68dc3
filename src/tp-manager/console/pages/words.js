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

/** @param {string} language */
export async function loadWords(language) {
  sessionStorage.setItem(CHOSEN, language);
  /** @type {{ default: Record<string, string> }} */
  const { default: texts } = await import(`./words/${language}.js`);
  const plural = new Intl.PluralRules(language);
  /** @type {Words} */
  return (key, values = {}) => {
    const isOne = "count" in values && plural.select(Number(values["count"])) === "one";
    const text = (isOne && texts[`${key}.one`]) || (texts[key] ?? key);
    return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
  };
}
