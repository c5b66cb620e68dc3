import { html } from "../vendor/htm-preact.js";

/** The members of an identity, in the order of the rows. */
const facts = ["terminalId", "serialNumber", "deviceId", "version"];

/**
 * The accepted terminal and the one that is connected now, side by side; what differs stands out.
 * @param {{ words: import("../words.js").Words, replaced: any }} props
 *   `replaced`: as `GET /health` tells it; null where no other terminal is connected.
 */
export function BothTerminals({ words, replaced }) {
  if (!replaced) return null;
  const { accepted, found } = replaced;
  const cell = (/** @type {string} */ value) => value || words("notKnown");
  return html`<div class="scroll" role="region" tabindex="0" aria-label=${words("accept.both")}>
    <table>
      <caption class="out">${words("accept.both")}</caption>
      <thead><tr><th scope="col">${words("accept.fact")}</th>
        <th scope="col">${words("accept.known")}</th><th scope="col">${words("accept.new")}</th>
      </tr></thead>
      <tbody>${facts.map(
        (name) => html`<tr key=${name}><th scope="row">${words(`accept.${name}`)}</th>
          <td>${cell(accepted[name])}</td>
          <td>${accepted[name] === found[name] ? cell(found[name]) : html`<strong>${cell(found[name])}</strong>`}</td>
        </tr>`,
      )}</tbody></table></div>`;
}
