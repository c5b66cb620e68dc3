import { timeOf } from "../format.js";
import { html } from "../vendor/htm-preact.js";

/**
 * An order's way to the gateway: each try, what ended them, and who wanted it otherwise.
 * @param {{ steps: any[] | undefined, words: import("../words.js").Words, language: string }} props
 */
export function Sending({ steps = [], words, language }) {
  if (steps.length === 0) return null;
  return html`<h3>${words("story.sending")}</h3>
    <ol class="steps">${steps.map(
      (step) => html`<li>
        <time datetime=${step.at}>${timeOf(step.at, language)}</time>
        <span>${told(step, words)}${
          quoteOf(step) && html` <q lang=${isOfPerson(step) ? null : "en"}>${quoteOf(step)}</q>`
        }</span></li>`,
    )}</ol>`;
}

/** @param {any} step */
const isOfPerson = ({ step }) => step === "requeue" || step === "drop";

/**
 * The words of a try that went well say nothing more.
 * @param {any} step
 * @returns {string}
 */
const quoteOf = ({ outcome, description }) => (outcome === "taken" ? "" : description);

/**
 * @param {any} step
 * @param {import("../words.js").Words} words
 */
function told({ step, outcome, number, by }, words) {
  const key = step === "try" ? `try.${outcome}` : step;
  return words(`story.sending.${key}`, { number, by: by ?? words("story.sending.person") });
}
