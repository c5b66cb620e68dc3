import { faultOf, own } from "../said.js";
import { html, useState } from "../vendor/htm-preact.js";
import { useMoreWords } from "./more-words.js";

/** @param {import("../main.js").ViewProps} props */
export function Settings({ api, words, language }) {
  // The English help comes with the setting.
  const more = useMoreWords(words, language, language === "en" ? null : "settings");
  const [settings, setSettings] = useState(/** @type {any[] | null} */ (null));
  const [fault, setFault] = useState("");
  const read = async () => {
    try {
      const { status, body } = await api.get("/settings");
      if (status !== 200) throw new Error(faultOf(words, body.error));
      setSettings(body);
    } catch (error) {
      setFault(/** @type {Error} */ (error).message);
    }
  };
  return html`<section aria-labelledby="settings-title">
    <h2 id="settings-title">${words("settings.title")}</h2>
    <p>${words("settings.words")}</p>
    ${!settings && html`<button type="button" onclick=${read}>${words("settings.show")}</button>`}
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      settings &&
      html`<ul class="plain">${settings.map(
        (one) => html`<li key=${one.name}>
      <strong>${one.name}</strong> = ${told(one, words)}
      <br />${helpOf(one, more)}</li>`,
      )}</ul>`
    }
  </section>`;
}

/**
 * @param {any} setting
 * @param {import("../words.js").Words} words
 */
function told({ state, value, default: usual }, words) {
  if (state === "set") return html`<code>${value}</code>`;
  if (state !== "default") return html`<em>${words(`settings.${state}`)}</em>`;
  return usual === null
    ? html`<em>${words("settings.unset")}</em>`
    : html`<code>${usual}</code> <em>${words("settings.default")}</em>`;
}

/**
 * A name that only a newer connector has is helped in its own English.
 * @param {any} setting
 * @param {import("../words.js").Words} words
 */
function helpOf({ name, help }, words) {
  const text = own(words, `setting.${name}`);
  return text
    ? html`<span class="faint">${text}</span>`
    : html`<span class="faint" lang="en">${help}</span>`;
}
