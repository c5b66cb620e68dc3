import { timeOf } from "./format.js";
import { sentenceKey } from "./open-reversal.js";
import { html, useEffect, useState } from "./vendor/htm-preact.js";

/**
 * The page's own sentences for the codes that the connector sends. The connector's English text
 * follows them as a detail; it is left out where it names a call of the API.
 * @typedef {import("./texts.js").Texts} Texts
 * @typedef {{ readonly good: boolean, readonly text: string, readonly detail?: string }} Outcome
 */

const namesCall = /\b(GET|POST|HEAD) \//;

/** The placeholders of buttons and views in sentences, each with the key of its label. */
const labels = {
  inDoubt: "nav.in-doubt",
  requeue: "requeue",
  drop: "drop",
  maintenance: "nav.maintenance",
  check: "maintenance.check",
  accept: "accept",
  doctor: "doctor.examine",
  ask: "lost.ask",
  update: "maintenance.update",
  unhold: "updates.unhold",
  settings: "settings.title",
};

/**
 * Returns the connector's own text about a code, or nothing where it only repeats the sentence of
 * the page: a sentence with the count has all that the text has.
 * @param {Texts} texts
 * @param {string} key
 * @param {string} says
 */
export function moreOf(texts, key, says) {
  const isRepeated = /^(error\.TERMINAL_CHANGED|condition\.supervisor-silent)$/.test(key);
  return isRepeated || own(texts, key).includes("{count}") ? "" : says;
}

/**
 * Returns the page's own sentence, or `otherwise` if the page has none.
 * @param {Texts} texts
 * @param {string} key
 * @param {string} [otherwise]
 * @param {Record<string, string | number>} [values]
 */
export function own(texts, key, otherwise = "", values = {}) {
  const named = Object.entries(labels).map(([name, label]) => [name, texts(label)]);
  const text = texts(key, { ...Object.fromEntries(named), ...values });
  return text === key ? otherwise : text;
}

/**
 * Returns why a call was refused, and what helps.
 * @param {Texts} texts
 * @param {any} error the member `error` of an answer
 * @returns {Outcome}
 */
export function refusal(texts, error) {
  const text = own(texts, sentenceKey(error), texts("error.other"));
  const help = own(texts, `todo.${error?.code}`);
  const said = error?.message === text ? "" : error?.message;
  const detail = [said, error?.code && `(${error.code})`].filter(Boolean).join(" ");
  return { good: false, text: help ? `${text} ${help}` : text, detail };
}

/**
 * Returns until when the connector asks the terminal about an order in doubt.
 * @param {{ until: string | null }} asking the member `error.details.asking`
 * @param {Texts} texts
 */
export function askingText({ until }, texts) {
  return until === null
    ? texts("asking.later")
    : texts("asking.until", { time: timeOf(until, texts) });
}

/**
 * A refusal in one line.
 * @param {Texts} texts
 * @param {any} error
 */
export function faultOf(texts, error) {
  if (!error) return texts("noAnswer");
  const { text } = refusal(texts, error);
  return `${text} (${error.code})`;
}

/**
 * The connector's own text, in English.
 * @param {{ text: string | null | undefined }} props
 */
export function Detail({ text }) {
  if (!text || namesCall.test(text)) return null;
  return html` <span class="faint" lang="en">${text}</span>`;
}

/**
 * Returns whether the terminal's own text says only that it is ready. The page has a text for it.
 * @param {string | null | undefined} text
 */
export const saysReady = (text) => /^(00 )?ready$/.test(text ?? "");

/**
 * A state that is written in the page's language: choosing another language clears it.
 * @template T
 * @param {Texts} texts
 * @param {T} nothing
 * @returns {[T, (next: T) => void]}
 */
export function useSentence(texts, nothing) {
  const [sentence, setSentence] = useState(nothing);
  useEffect(() => setSentence(nothing), [texts]);
  return [sentence, setSentence];
}

/** @param {Texts} texts */
export function useOutcome(texts) {
  return useSentence(texts, /** @type {Outcome | null} */ (null));
}

/** @param {{ outcome: Outcome | null }} props */
export function OutcomeText({ outcome }) {
  return outcome && html`${outcome.text}<${Detail} text=${outcome.detail} />`;
}

/**
 * A condition, what helps, and the connector's own text about it.
 * @param {{ texts: Texts, condition: any }} props
 */
export function ConditionText({ texts, condition }) {
  const { says, todo, count } = condition;
  const key = conditionKey(condition.trouble);
  const text = own(texts, key, says, { count: count ?? "" });
  const help = own(texts, key.startsWith("error.") ? key.replace("error", "todo") : `${key}.todo`);
  const more = text === says ? "" : moreOf(texts, key, says);
  return html`<strong>${text}</strong><br />${help || html`<span lang="en">${todo}</span>`}
    ${more && html`<br /><${Detail} text=${more} />`}`;
}

/**
 * The key of a condition's sentence. A condition of the terminal has the sentence of the error that
 * a payment is refused with.
 * @param {string} name
 */
export function conditionKey(name) {
  const code = /^terminal-(disconnected|out-of-order|changed)$/.test(name);
  return code ? `error.${name.toUpperCase().replaceAll("-", "_")}` : `condition.${name}`;
}
