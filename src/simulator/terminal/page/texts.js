import { call } from "./link.js";

/** @type {Readonly<Record<string, string>>} */
export const languages = {
  en: "English",
  fr: "Français",
  de: "Deutsch",
  it: "Italiano",
  es: "Español",
};
const CHOSEN = "terminal-language";

/** @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
const catalogues = await call("/page/texts.json");

let spoken = firstLanguage();

/** Returns the language chosen in this tab, or else the browser's first one that the page has. */
function firstLanguage() {
  const chosen = sessionStorage.getItem(CHOSEN) ?? "";
  const wanted = [chosen, ...navigator.languages.map((one) => one.slice(0, 2))];
  return wanted.find((one) => languages[one] !== undefined) ?? "en";
}

/** Returns the language of the page. */
export const language = () => spoken;

/**
 * Chooses a language; the page has to be drawn again. A reload of the tab keeps the language.
 * @param {string} chosen
 */
export function speak(chosen) {
  spoken = chosen;
  sessionStorage.setItem(CHOSEN, chosen);
  document.documentElement.lang = chosen;
  document.title = t("title");
}

/**
 * Returns a text in the page's language, with its values filled in.
 * @param {string} key
 * @param {Readonly<Record<string, unknown>>} [values]
 */
export function t(key, values = {}) {
  const text = catalogues[spoken]?.[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/**
 * Returns a text that the simulator has in English, in the page's language.
 * @param {string} key
 * @param {string} english
 */
export const translated = (key, english) => catalogues[spoken]?.[key] ?? english;

/**
 * Returns the two parts of a text, before and after a value that has an element of its own.
 * @param {string} key
 */
export function around(key) {
  const [before = "", after = ""] = t(key).split(/\{\w+\}/);
  return /** @type {const} */ ([before, after]);
}
