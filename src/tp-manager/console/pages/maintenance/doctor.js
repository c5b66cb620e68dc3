import { useReading } from "../actions.js";
import { timeOf } from "../format.js";
import { Detail, moreOf, own } from "../sentences.js";
import { html, useState } from "../vendor/htm-preact.js";
import { useMoreTexts } from "./more-texts.js";

const LIMIT_MS = 150_000;

/** @param {import("../main.js").ViewProps} props */
export function Doctor({ api, texts }) {
  const more = useMoreTexts(texts, "doctor");
  /** @type {ReturnType<typeof useReading<any>>} */
  const { value: report, fault, read } = useReading(texts);
  const [runs, setRuns] = useState(false);
  const [notLoaded, setNotLoaded] = useState("");
  const during = async (/** @type {() => Promise<void>} */ work) => {
    setRuns(true);
    setNotLoaded("");
    await work().catch((error) => setNotLoaded(error.message));
    setRuns(false);
  };
  const examine = () => during(() => read(() => api.get("/doctor", LIMIT_MS)));
  const bundle = () => during(() => api.download("/support-bundle", "support.tar.gz"));
  const summary = report && texts(report.well ? "doctor.well" : "doctor.unwell");
  return html`<section aria-labelledby="doctor-title">
    <h2 id="doctor-title">${texts("doctor.title")}</h2>
    <div class="row">
      <button type="button" disabled=${runs} onclick=${examine}>${texts("doctor.examine")}</button>
      <button type="button" disabled=${runs} onclick=${bundle}>${texts("doctor.bundle")}</button>
    </div>
    <p role="status">${runs ? texts("doctor.runs") : summary}</p>
    ${(fault || notLoaded) && html`<p class="fault" role="alert">${fault || notLoaded}</p>`}
    ${
      report &&
      html`<ul class="plain">${report.findings.map(
        (/** @type {any} */ one) => html`<li key=${one.check + one.says}>
          <${Finding} finding=${one} texts=${more} /></li>`,
      )}</ul>`
    }
  </section>`;
}

/**
 * Shows a finding in the page's sentence for its code, or in the doctor's English without one.
 * @param {{ finding: any, texts: import("../texts.js").Texts }} props
 */
function Finding({ finding: { check, code, verdict, says, todo, values }, texts }) {
  const filled = { count: "", ...withLocalTimes(values, texts) };
  const first = (/** @type {string[]} */ ...keys) =>
    keys.map((key) => own(texts, key, "", filled)).find((text) => text !== "") ?? "";
  const mine = own(texts, `finding.${code}`, "", filled);
  const key = [`error.${code}`, `condition.${code}`].find((one) => own(texts, one) !== "") ?? "";
  const text = mine || own(texts, key, "", filled);
  const help = first(`finding.${code}.todo`, `todo.${code}`, `condition.${code}.todo`);
  const { command } = values;
  return html`<span class=${`verdict ${verdict}`}>${texts(`doctor.${verdict}`)}</span>
    ${" "}<strong>${own(texts, `doctor.of.${check}`, check)}</strong>${texts("colon")}
    ${text || html`<span lang="en">${says}</span>`}
    <${Detail} text=${mine ? values.detail : text && moreOf(texts, key, says)} />
    ${
      todo &&
      html`<br /><span class="todo">→ ${help || html`<span lang="en">${todo}</span>`}</span>`
    }
    ${help && command && !help.includes(command) && html`<br /><code>${command}</code>`}`;
}

const instant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/**
 * @param {Record<string, string | number>} values
 * @param {import("../texts.js").Texts} texts
 */
function withLocalTimes(values, texts) {
  const entries = Object.entries(values).map(([name, value]) => {
    const isTime = typeof value === "string" && instant.test(value);
    return [name, isTime ? timeOf(value, texts) : value];
  });
  return Object.fromEntries(entries);
}
