import { DateField } from "../date-field.js";
import { dayOf, timeOf } from "../format.js";
import { Detail, refusal, Said, useTold } from "../said.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";

/**
 * How updates stand, the words about them that end no program, and the commands for the others.
 * @param {import("../main.js").ViewProps} props
 */
export function Updates({ api, ask, words, language }) {
  const [stand, setStand] = useState(/** @type {any} */ (undefined));
  const [until, setUntil] = useState("");
  const [told, setTold] = useTold(words, /** @type {import("../said.js").Told | null} */ (null));
  const [runs, setRuns] = useState("");
  const read = async () => {
    const { body } = await api.get("/health").catch(() => ({ body: undefined }));
    const { updates, versions } = body ?? {};
    setStand(updates ? { ...updates, version: versions.connector } : null);
  };
  useEffect(() => void read(), []);
  /** @type {(name: string, path: string, body: (person: any) => object) => Promise<void>} */
  const act = async (name, path, body) => {
    const end = until ? dayOf(until, language) : words("updates.open");
    const person = await ask({
      title: words(name),
      sentence: words(`${name}.sentence`, { until: end }),
      confirm: words(name),
    });
    if (!person) return;
    setRuns(words(name));
    setTold(null);
    try {
      const { status, body: answer } = await api.post(path, body(person), person);
      const key = status === 200 && answer.done ? "updates.done" : "updates.notDone";
      const ended = { good: answer.done, text: words(key, { what: words(name) }) };
      setTold(status === 200 ? { ...ended, detail: answer.message } : refusal(words, answer.error));
    } catch {
      setTold({ good: false, text: words("noAnswer") });
    }
    setRuns("");
    await read();
  };
  const check = () => act("care.update", "/update/check", () => ({}));
  const unhold = () => act("updates.unhold", "/update/unhold", () => ({}));
  const hold = (/** @type {Event} */ event) => {
    event.preventDefault();
    const more = until ? { until } : {};
    void act("updates.hold", "/update/hold", ({ name }) => ({ ...more, by: name }));
  };
  return html`<section aria-labelledby="updates-title">
    <h2 id="updates-title">${words("updates.title")}</h2>
    <p>${words("updates.words")}</p>
    ${stand === null && html`<p>${words("updates.unknown")}</p>`}
    ${stand && html`<${Stand} stand=${stand} words=${words} language=${language} />`}
    <div class="row">
      <button type="button" disabled=${runs !== ""} onclick=${check}>${words("care.update")}</button>
      ${
        stand?.heldBy &&
        html`<button type="button" disabled=${runs !== ""} onclick=${unhold}>
          ${words("updates.unhold")}</button>`
      }
    </div>
    <form class="row" onsubmit=${hold}>
      <${DateField} label=${words("updates.until")} language=${language} value=${until}
        none=${words("date.none")}
        oninput=${(/** @type {any} */ { target }) => setUntil(target.value)} />
      <button type="submit" disabled=${runs !== ""}>${words("updates.hold")}</button>
    </form>
    <p role="status" class=${told && !told.good ? "fault" : ""}>
      ${runs ? words("care.runs", { what: runs }) : html`<${Said} told=${told} />`}</p>
    <p>${words("updates.machine")}</p>
    <ul class="plain">${["now", "back"].map(
      (word) => html`<li key=${word}><code>./launch.sh update --${word}</code>
        <br />${words(`updates.${word}`)}</li>`,
    )}</ul>
    <p class="faint">${words("updates.windows")}</p>
  </section>`;
}

/** @param {any} props */
function Stand({ stand, words, language }) {
  if (!stand.asked) return html`<p>${words("updates.none")}</p>`;
  const looked = stand.lastCheckAt ? timeOf(stand.lastCheckAt, language) : words("updates.never");
  const rows = [
    ["updates.version", stand.version],
    ["updates.looked", html`${looked}<${Detail} text=${stand.lastError} />`],
    ["updates.ready", stand.ready ?? words("now.noUpdate")],
    ["updates.held", heldWords(stand, words, language)],
  ];
  return html`<dl>${rows.map(
    ([key, value]) => html`<div key=${key}><dt>${words(String(key))}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

/**
 * Who holds them, and when it ends.
 * @param {any} stand
 * @param {import("../words.js").Words} words
 * @param {string} language
 */
function heldWords({ heldBy, heldSince, heldUntil }, words, language) {
  if (!heldBy) return words("updates.nobody");
  const since = heldSince ? timeOf(heldSince, language) : words("notKnown");
  if (!heldUntil) return words("updates.heldOpen", { who: heldBy, since });
  return words("updates.heldUntil", { who: heldBy, since, until: timeOf(heldUntil, language) });
}
