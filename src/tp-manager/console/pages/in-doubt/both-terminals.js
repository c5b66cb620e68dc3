import { html } from "../vendor/htm-preact.js";
import { Table } from "../views/table.js";

/** The members of an identity, in the order of the rows. */
const facts = ["terminalId", "serialNumber", "deviceId", "version"];

/**
 * A table of the accepted terminal and the one that is connected now; what differs is in bold.
 * @param {{ texts: import("../texts.js").Texts, replaced: any }} props
 *   `replaced`: the member of `GET /health`; null where no other terminal is connected.
 */
export function BothTerminals({ texts, replaced }) {
  if (!replaced) return null;
  const { accepted, found } = replaced;
  const cell = (/** @type {string} */ value) => value || texts("notKnown");
  const rows = facts.map((name) => {
    const now = cell(found[name]);
    const isSame = accepted[name] === found[name];
    return [
      texts(`accept.${name}`),
      cell(accepted[name]),
      isSame ? now : html`<strong>${now}</strong>`,
    ];
  });
  const heads = [texts("accept.fact"), texts("accept.known"), texts("accept.new")];
  return html`<${Table} title=${texts("accept.both")} heads=${heads} rows=${rows} />`;
}
