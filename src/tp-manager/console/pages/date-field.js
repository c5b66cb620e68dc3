import { dayOf } from "./format.js";
import { html } from "./vendor/htm-preact.js";

/**
 * A day. The browser writes the field in its own language, whatever the page's is; the line below
 * tells the day in the page's (docs/console.md 1).
 * @param {{ label: string, value: string, language: string, none?: string,
 *   [attribute: string]: unknown }} props
 */
export function DateField({ label, value, language, none = "", ...attributes }) {
  const day = /^\d{4}-\d\d-\d\d$/.test(value) ? dayOf(value, language) : none;
  return html`<label>${label}
    <input type="date" value=${value} ...${attributes} /><span class="day">${day}</span></label>`;
}
