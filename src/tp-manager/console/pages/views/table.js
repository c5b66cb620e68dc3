import { html } from "../vendor/htm-preact.js";

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
