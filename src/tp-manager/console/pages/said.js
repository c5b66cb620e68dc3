import { html, useEffect, useState } from "./vendor/htm-preact.js";

/**
 * The page's own sentences about what the connector tells as codes. Its English words are a detail
 * behind them, and left out where they tell a program what to call.
 * @typedef {import("./words.js").Words} Words
 * @typedef {{ readonly good: boolean, readonly text: string, readonly detail?: string }} Told
 */

const namesCall = /\b(GET|POST|HEAD) \//;

/** Buttons and views that sentences name. */
const buttons = {
  doubt: "nav.doubt",
  care: "nav.care",
  check: "care.check",
  accept: "accept",
  doctor: "doctor.examine",
  look: "lost.look",
  update: "care.update",
  unhold: "updates.unhold",
  settings: "settings.title",
};

/**
 * The page's own sentence; `otherwise` where it has none.
 * @param {Words} words
 * @param {string} key
 * @param {string} [otherwise]
 * @param {Record<string, string | number>} [values]
 */
export function own(words, key, otherwise = "", values = {}) {
  const named = Object.entries(buttons).map(([name, button]) => [name, words(button)]);
  const text = words(key, { ...Object.fromEntries(named), ...values });
  return text === key ? otherwise : text;
}

/**
 * Why something was refused.
 * @param {Words} words
 * @param {any} error the member `error` of an answer
 * @returns {Told}
 */
export function refusal(words, error) {
  const text = own(words, `error.${error?.code}`, words("error.other"));
  const help = own(words, `todo.${error?.code}`);
  const detail = [error?.message, error?.code && `(${error.code})`].filter(Boolean).join(" ");
  return { good: false, text: help ? `${text} ${help}` : text, detail };
}

/**
 * A refusal in one line.
 * @param {Words} words
 * @param {any} error
 */
export function faultOf(words, error) {
  if (!error) return words("noAnswer");
  const { text } = refusal(words, error);
  return `${text} (${error.code})`;
}

/**
 * The connector's own words, in English.
 * @param {{ text: string | null | undefined }} props
 */
export function Detail({ text }) {
  if (!text || namesCall.test(text)) return null;
  return html` <span class="faint" lang="en">${text}</span>`;
}

/**
 * How something ended, in the words of the page; forgotten when another language is chosen.
 * @template T
 * @param {Words} words
 * @param {T} nothing
 * @returns {[T, (told: T) => void]}
 */
export function useTold(words, nothing) {
  const [told, setTold] = useState(nothing);
  useEffect(() => setTold(nothing), [words]);
  return [told, setTold];
}

/**
 * How an act ended.
 * @param {{ told: Told | null }} props
 */
export function Said({ told }) {
  return told && html`${told.text}<${Detail} text=${told.detail} />`;
}

/**
 * A trouble, what helps, and the connector's words about it.
 * @param {{ words: Words, trouble: any }} props
 */
export function TroubleTold({ words, trouble: { trouble, says, todo, count } }) {
  const key = troubleKey(trouble);
  const text = own(words, key, says, { count: count ?? "" });
  const help = own(words, key.startsWith("error.") ? key.replace("error", "todo") : `${key}.todo`);
  return html`<strong>${text}</strong><br />${help || html`<span lang="en">${todo}</span>`}
    ${text !== says && html`<br /><${Detail} text=${says} />`}`;
}

/**
 * The troubles of the terminal are the refusals that a payment gets.
 * @param {string} name
 */
export function troubleKey(name) {
  const code = /^terminal-(disconnected|out-of-order|changed)$/.test(name);
  return code ? `error.${name.toUpperCase().replaceAll("-", "_")}` : `trouble.${name}`;
}
