import { timeOf } from "../format.js";
import { faultOf, own } from "../said.js";
import { html, useState } from "../vendor/htm-preact.js";
import { actTold, endTold } from "./act-words.js";

/** @param {import("../main.js").ViewProps} props */
export function Acts({ api, words, language }) {
  const [listed, setListed] = useState(/** @type {any[] | null} */ (null));
  const [next, setNext] = useState(/** @type {string | null} */ (null));
  const [fault, setFault] = useState("");
  const read = async (/** @type {string | null} */ cursor) => {
    try {
      const { status, body, next } = await api.get(`/acts${cursor ? `?cursor=${cursor}` : ""}`);
      if (status !== 200) throw new Error(faultOf(words, body.error));
      setListed((before) => [...(cursor ? (before ?? []) : []), ...body]);
      setNext(next);
    } catch (error) {
      setFault(/** @type {Error} */ (error).message);
    }
  };
  const reasonOf = (/** @type {string} */ code) =>
    own(words, `error.${code}`, words("error.other"));
  return html`<section aria-labelledby="acts-title">
    <h2 id="acts-title">${words("acts.title")}</h2>
    <button type="button" onclick=${() => read(null)}>${words("acts.show")}</button>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${listed?.length === 0 && html`<p>${words("acts.none")}</p>`}
    ${
      listed &&
      html`<ul class="plain">${listed.map(
        (one) => html`<li key=${one.id}>
      ${timeOf(one.at, language)} <strong>${one.name}</strong> (${one.login}): ${one.reason}<br />
      ${actTold(one, words, language)} → ${endTold(one, words, reasonOf)}
      <details class="faint"><summary>${words("acts.raw")}</summary>
        <code>${one.call}</code> ${one.body && html`<code>${one.body}</code>`}</details>
      </li>`,
      )}</ul>`
    }
    ${next && html`<button type="button" onclick=${() => read(next)}>${words("acts.more")}</button>`}
  </section>`;
}
