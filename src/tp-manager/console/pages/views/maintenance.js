import { ActionStatus, useAction } from "../actions.js";
import { BothTerminals } from "../in-doubt/both-terminals.js";
import { AuditEntries } from "../maintenance/audit-entries.js";
import { Backup } from "../maintenance/backup.js";
import { Doctor } from "../maintenance/doctor.js";
import { Logs } from "../maintenance/logs.js";
import { Settings } from "../maintenance/settings.js";
import { Updates } from "../maintenance/updates.js";
import { saysReady } from "../sentences.js";
import { html } from "../vendor/htm-preact.js";

/**
 * The view of maintenance: the terminal, updates, and what a person reads to find a fault.
 * @param {import("../main.js").ViewProps} props
 */
export default function Maintenance(props) {
  return html`<h1>${props.texts("nav.maintenance")}</h1>
    <${Upkeep} ...${props} />
    <${Updates} ...${props} />
    <${Backup} ...${props} />
    <${Doctor} ...${props} />
    <${Logs} ...${props} />
    <${Settings} ...${props} />
    <${AuditEntries} ...${props} />`;
}

/**
 * Actions of the terminal, in the order in which a person tries them.
 * @type {ReadonlyArray<{ name: string, path: string, critical?: boolean }>}
 */
const actions = [
  { name: "tlc", path: "/tlc" },
  { name: "reset", path: "/reset" },
  { name: "accept", path: "/terminal/accept", critical: true },
];

/** @param {import("../main.js").ViewProps} props */
function Upkeep({ api, ask, texts }) {
  const action = useAction(texts);
  const isBusy = action.runs !== "";
  const labelOf = (/** @type {string} */ name) => texts(`maintenance.${name}`);
  const check = () =>
    action.run(
      labelOf("check"),
      () => api.get("/check?fresh=yes"),
      ({ cr, detail }) => ({
        text: texts(`maintenance.cr.${cr}`),
        detail: saysReady(detail) ? undefined : detail,
      }),
      true,
    );
  const act = async (/** @type {typeof actions[number]} */ { name, path, critical = false }) => {
    const health = name === "accept" ? await api.get("/health?http=200").catch(() => null) : null;
    const replaced = health?.body.replaced;
    const person = await ask({
      title: labelOf(name),
      sentence: texts(`maintenance.${name}.sentence`),
      confirm: labelOf(name),
      critical,
      more: replaced && html`<${BothTerminals} texts=${texts} replaced=${replaced} />`,
    });
    if (!person) return;
    const done = (/** @type {any} */ body) =>
      name === "tlc"
        ? totalsOf(body, texts)
        : {
            text: texts(`maintenance.${name}.done`),
            detail: name === "accept" ? body.message : "",
          };
    await action.run(labelOf(name), () => api.post(path, undefined, person), done);
  };
  return html`<section aria-labelledby="upkeep-title">
    <h2 id="upkeep-title">${texts("maintenance.upkeep")}</h2>
    <div class="row">
      <button type="button" disabled=${isBusy} onclick=${check}>${labelOf("check")}</button>
      ${actions.map(
        (one) => html`<button key=${one.name} type="button" disabled=${isBusy}
        onclick=${() => act(one)}>${labelOf(one.name)}</button>`,
      )}
    </div>
    <${ActionStatus} texts=${texts} action=${action} />
  </section>`;
}

/**
 * The outcome of an end of day, with its totals by card.
 * @param {any} body
 * @param {import("../texts.js").Texts} texts
 */
function totalsOf({ App, reconciliation }, texts) {
  const sums = App.map((/** @type {any} */ { Name, Count, Sum }) => `${Name} ${Count}: ${Sum}`);
  const text = [texts("maintenance.tlc.done"), sums.join(", ")].filter((one) => one).join(" – ");
  return { text, detail: reconciliation?.because };
}
