import { dayOf } from "./format.js";
import { html } from "./vendor/htm-preact.js";

/**
 * A field for a day. The browser writes the field in its own language; the line below it names the
 * day in the language of the page (docs/console.md 4).
 * @param {{ label: string, value: string, texts: import("./texts.js").Texts, none?: string,
 *   [attribute: string]: unknown }} props
 */
export function DateField({ label, value, texts, none = "", ...attributes }) {
  const day = /^\d{4}-\d\d-\d\d$/.test(value) ? dayOf(value, texts) : none;
  return html`<label>${label}
    <input type="date" value=${value} ...${attributes} /><span class="day">${day}</span></label>`;
}
