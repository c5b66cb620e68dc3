import { firstLanguage, loadTexts } from "./texts.js";

export { languages } from "./texts.js";

/** @type {import("./texts.js").Texts} */
let texts;
await speak(firstLanguage());

/** Returns the language of the page. */
export const language = () => texts.language;

/**
 * Chooses a language; the page has to be drawn again. A reload of the tab keeps the language.
 * @param {string} chosen
 */
export async function speak(chosen) {
  texts = await loadTexts(chosen);
  document.documentElement.lang = chosen;
  document.title = t("title");
}

/**
 * Returns a text in the page's language, with its values filled in.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values) {
  return texts(key, values);
}

/**
 * Returns a text that the simulator has in English, in the page's language.
 * @param {string} key
 * @param {string} english
 */
export function translated(key, english) {
  const text = t(key);
  return text === key ? english : text;
}

/**
 * Returns the two parts of a text, before and after a value that has an element of its own.
 * @param {string} key
 */
export function around(key) {
  const [before = "", after = ""] = t(key).split(/\{\w+\}/);
  return /** @type {const} */ ([before, after]);
}
