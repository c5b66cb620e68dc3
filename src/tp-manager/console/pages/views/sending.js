import { timeOf } from "../format.js";
import { html } from "../vendor/htm-preact.js";

/**
 * Shows the attempts to send an order to the gateway, their outcomes, and a person's decisions.
 * @param {{ steps: any[] | undefined, texts: import("../texts.js").Texts }} props
 */
export function Sending({ steps = [], texts }) {
  if (steps.length === 0) return null;
  return html`<h3>${texts("timeline.sending")}</h3>
    <ol class="steps">${steps.map((step, at) => {
      const quote = quoteOf(step, steps[at - 1]);
      return html`<li>
        <time datetime=${step.at}>${timeOf(step.at, texts)}</time>
        <span>${sentenceOf(step, texts)}${
          quote && html` <q lang=${isOfPerson(step) ? null : "en"}>${quote}</q>`
        }</span></li>`;
    })}</ol>`;
}

/** @param {any} step */
const isOfPerson = ({ step }) => step === "requeue" || step === "drop";

/**
 * Returns the gateway's text, except for a successful attempt. The reason for which an order is
 * parked often repeats that of the attempt before it.
 * @param {any} step
 * @param {any} before
 * @returns {string}
 */
function quoteOf({ step, outcome, description }, before) {
  const isRepeated =
    step === "parked" && before?.description && description.includes(before.description);
  return outcome === "taken" || isRepeated ? "" : description;
}

/**
 * @param {any} step
 * @param {import("../texts.js").Texts} texts
 */
function sentenceOf({ step, outcome, number, by }, texts) {
  const key = step === "try" ? `try.${outcome}` : step;
  return texts(`timeline.sending.${key}`, { number, by: by ?? texts("timeline.sending.person") });
}
