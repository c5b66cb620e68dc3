import { useReading } from "../actions.js";
import { own } from "../sentences.js";
import { html } from "../vendor/htm-preact.js";
import { useMoreTexts } from "./more-texts.js";

/** @param {import("../main.js").ViewProps} props */
export function Settings({ api, texts }) {
  // The English help is in the answer, with each setting.
  const more = useMoreTexts(texts, texts.language === "en" ? null : "settings");
  /** @type {ReturnType<typeof useReading<any[]>>} */
  const { value: settings, fault, read } = useReading(texts);
  const show = () => read(() => api.list("/settings"));
  return html`<section aria-labelledby="settings-title">
    <h2 id="settings-title">${texts("settings.title")}</h2>
    <p>${texts("settings.words")}</p>
    ${!settings && html`<button type="button" onclick=${show}>${texts("settings.show")}</button>`}
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      settings &&
      html`<ul class="plain">${settings.map(
        (one) => html`<li key=${one.name}>
      <strong>${one.name}</strong> = ${settingText(one, texts)}
      ${" "}<span class="faint">(${originOf(one.origin, texts)})</span>
      <br />${helpOf(one, more)}</li>`,
      )}</ul>`
    }
  </section>`;
}

/**
 * @param {any} setting
 * @param {import("../texts.js").Texts} texts
 */
function settingText({ state, value, default: usual }, texts) {
  if (state === "set") return html`<code>${value}</code>`;
  if (state !== "default") return html`<em>${texts(`settings.${state}`)}</em>`;
  return usual === null ? html`<em>${texts("settings.unset")}</em>` : html`<code>${usual}</code>`;
}

/**
 * Returns where a setting's value comes from: a line of the setup file, a default, other settings.
 * @param {string} origin
 * @param {import("../texts.js").Texts} texts
 */
function originOf(origin, texts) {
  const [, file = "", line = ""] = /^(.*):(\d+)$/.exec(origin) ?? [];
  return file ? texts("settings.file", { file, line }) : texts(`settings.${origin}`);
}

/**
 * Returns a setting's help in the page's language, or in English where the page has none.
 * @param {any} setting
 * @param {import("../texts.js").Texts} texts
 */
function helpOf({ name, help }, texts) {
  const text = own(texts, `setting.${name}`);
  return text
    ? html`<span class="faint">${text}</span>`
    : html`<span class="faint" lang="en">${help}</span>`;
}
