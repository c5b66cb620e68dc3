import { ActionStatus, useAction } from "../actions.js";
import { DateField } from "../date-field.js";
import { dayOf, timeOf } from "../format.js";
import { Facts } from "../parts.js";
import { Detail } from "../sentences.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";

/**
 * Shows the state of updates, the actions that stop no program, and commands for the others.
 * @param {import("../main.js").ViewProps} props
 */
export function Updates({ api, ask, texts }) {
  const [stand, setStand] = useState(/** @type {any} */ (undefined));
  const [until, setUntil] = useState("");
  const action = useAction(texts);
  const isBusy = action.runs !== "";
  const read = async () => {
    const { body } = await api.get("/health?http=200").catch(() => ({ body: undefined }));
    const { updates, versions } = body ?? {};
    setStand(updates ? { ...updates, version: versions.connector } : null);
  };
  useEffect(() => void read(), []);
  /** @type {(name: string, path: string, body: (person: any) => object) => Promise<void>} */
  const act = async (name, path, body) => {
    const what = texts(name);
    const end = until ? dayOf(until, texts) : texts("updates.open");
    const sentence = texts(`${name}.sentence`, { until: end });
    const person = await ask({ title: what, sentence, confirm: what });
    if (!person) return;
    await action.run(
      what,
      () => api.post(path, body(person), person),
      ({ done, message }) => ({
        good: done,
        text: texts(done ? "updates.done" : "updates.notDone", { what }),
        detail: message,
      }),
    );
    await read();
  };
  const check = () => act("maintenance.update", "/update/check", () => ({}));
  const unhold = () => act("updates.unhold", "/update/unhold", () => ({}));
  const hold = (/** @type {Event} */ event) => {
    event.preventDefault();
    const more = until ? { until } : {};
    void act("updates.hold", "/update/hold", ({ name }) => ({ ...more, by: name }));
  };
  return html`<section aria-labelledby="updates-title">
    <h2 id="updates-title">${texts("updates.title")}</h2>
    ${stand?.asked && !stand.heldBy && html`<p>${texts("updates.words")}</p>`}
    ${stand === null && html`<p>${texts("updates.unknown")}</p>`}
    ${stand && html`<${Stand} stand=${stand} texts=${texts} />`}
    <div class="row">
      <button type="button" disabled=${isBusy} onclick=${check}>
        ${texts("maintenance.update")}</button>
      ${
        stand?.heldBy &&
        html`<button type="button" disabled=${isBusy} onclick=${unhold}>
          ${texts("updates.unhold")}</button>`
      }
    </div>
    <form class="row" onsubmit=${hold}>
      <${DateField} label=${texts("updates.until")} texts=${texts} value=${until}
        none=${texts("date.none")}
        oninput=${(/** @type {any} */ { target }) => setUntil(target.value)} />
      <button type="submit" disabled=${isBusy}>${texts("updates.hold")}</button>
    </form>
    <${ActionStatus} texts=${texts} action=${action} />
    <p>${texts("updates.machine")}</p>
    <ul class="plain">${["now", "back"].map(
      (option) => html`<li key=${option}><code>./launch.sh update --${option}</code>
        <br />${texts(`updates.${option}`)}</li>`,
    )}</ul>
    <p class="faint">${texts("updates.windows")}</p>
  </section>`;
}

/** @param {any} props */
function Stand({ stand, texts }) {
  if (!stand.asked) return html`<p>${texts("updates.none")}</p>`;
  const { lastError } = stand;
  const checked = stand.lastCheckAt ? timeOf(stand.lastCheckAt, texts) : texts("updates.never");
  const failed = lastError && html`, ${texts("updates.failed")}<${Detail} text=${lastError} />`;
  /** @type {Array<[string, unknown]>} */
  const rows = [
    ["updates.version", stand.version],
    ["updates.lastCheck", html`${checked}${failed}`],
    ["updates.ready", stand.ready ?? texts("now.noUpdate")],
    ["updates.held", holdText(stand, texts)],
  ];
  return html`<${Facts} texts=${texts} rows=${rows} />`;
}

/**
 * Who holds updates, and when the hold ends.
 * @param {any} stand
 * @param {import("../texts.js").Texts} texts
 */
function holdText({ heldBy, heldSince, heldUntil }, texts) {
  if (!heldBy) return texts("updates.nobody");
  const since = heldSince ? timeOf(heldSince, texts) : texts("notKnown");
  if (!heldUntil) return texts("updates.heldOpen", { who: heldBy, since });
  return texts("updates.heldUntil", { who: heldBy, since, until: timeOf(heldUntil, texts) });
}
