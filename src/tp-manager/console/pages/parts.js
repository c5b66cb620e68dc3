import { html } from "./vendor/htm-preact.js";

/**
 * Facts with the keys of their names. A value of `true` in the third column is written in red.
 * @param {{ texts: import("./texts.js").Texts, kind?: string, tight?: boolean,
 *   rows: ReadonlyArray<readonly [string, unknown, boolean?]> }} props
 *   `kind`: the class of the values that are not in red.
 */
export function Facts({ texts, rows, kind = "", tight = false }) {
  return html`<dl class=${tight ? "tight" : ""}>${rows.map(
    ([key, value, bad]) => html`<div key=${key}>
      <dt>${texts(key)}</dt><dd class=${bad ? "bad-text" : kind}>${value}</dd></div>`,
  )}</dl>`;
}

/**
 * A table that scrolls in a region of its own. A screen reader reads its title.
 * @param {{ title: string, heads: readonly string[],
 *   rows: ReadonlyArray<readonly unknown[]> }} props each row begins with its head
 */
export function Table({ title, heads, rows }) {
  return html`<div class="scroll" role="region" tabindex="0" aria-label=${title}><table>
    <caption class="out">${title}</caption>
    <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ([head, ...cells]) => html`<tr><th scope="row">${head}</th>
        ${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
    )}</tbody></table></div>`;
}

/**
 * A link to the timeline of an order.
 * @param {{ orderId: string, text?: string }} props
 */
export function OrderLink({ orderId, text = orderId }) {
  return html`<a href=${`#payments/${encodeURIComponent(orderId)}`}>${text}</a>`;
}
