import { timeOf } from "../format.js";
import { Detail, faultOf, own } from "../said.js";
import { html, useState } from "../vendor/htm-preact.js";
import { useMoreWords } from "./more-words.js";

const LIMIT_MS = 150_000;

/** @param {import("../main.js").ViewProps} props */
export function Doctor({ api, words, language }) {
  const more = useMoreWords(words, language, "doctor");
  const [report, setReport] = useState(/** @type {any} */ (null));
  const [runs, setRuns] = useState(false);
  const [fault, setFault] = useState("");
  const during = async (/** @type {() => Promise<void>} */ work) => {
    setRuns(true);
    setFault("");
    await work().catch((error) => setFault(error.message));
    setRuns(false);
  };
  const examine = () =>
    during(async () => {
      const { status, body } = await api.get("/doctor", LIMIT_MS);
      if (status !== 200) throw new Error(faultOf(words, body.error));
      setReport(body);
    });
  const bundle = () => during(() => api.download("/support-bundle", "support.tar.gz"));
  return html`<section aria-labelledby="doctor-title">
    <h2 id="doctor-title">${words("doctor.title")}</h2>
    <div class="row">
      <button type="button" disabled=${runs} onclick=${examine}>${words("doctor.examine")}</button>
      <button type="button" disabled=${runs} onclick=${bundle}>${words("doctor.bundle")}</button>
    </div>
    <p role="status">${runs ? words("doctor.runs") : report ? summary(report, words) : ""}</p>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    ${
      report &&
      html`<ul class="plain">${report.findings.map(
        (/** @type {any} */ one) => html`<li key=${one.check + one.says}>
          <${Found} found=${one} words=${more} language=${language} /></li>`,
      )}</ul>`
    }
  </section>`;
}

/**
 * @param {any} report
 * @param {import("../words.js").Words} words
 */
function summary({ well }, words) {
  return words(well ? "doctor.well" : "doctor.unwell");
}

/**
 * One finding in the page's own words, by its code; the doctor's English ones where there are none.
 * @param {{ found: any, words: import("../words.js").Words, language: string }} props
 */
function Found({ found: { check, code, verdict, says, todo, values }, words, language }) {
  const shown = { count: "", ...shownValues(values, language) };
  const first = (/** @type {string[]} */ ...keys) =>
    keys.map((key) => own(words, key, "", shown)).find((text) => text !== "") ?? "";
  const mine = own(words, `finding.${code}`, "", shown);
  const text = mine || first(`error.${code}`, `trouble.${code}`);
  const help = first(`finding.${code}.todo`, `todo.${code}`, `trouble.${code}.todo`);
  const { command } = values;
  return html`<span class=${`verdict ${verdict}`}>${words(`doctor.${verdict}`)}</span>
    ${" "}<strong>${own(words, `doctor.of.${check}`, check)}</strong>${words("colon")}
    ${text || html`<span lang="en">${says}</span>`}
    <${Detail} text=${mine ? values.detail : text && says} />
    ${todo && html`<br /><span class="todo">→ ${help || html`<span lang="en">${todo}</span>`}</span>`}
    ${help && command && !help.includes(command) && html`<br /><code>${command}</code>`}`;
}

const instant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/**
 * @param {Record<string, string | number>} values
 * @param {string} language
 */
function shownValues(values, language) {
  const told = Object.entries(values).map(([name, value]) => {
    const isTime = typeof value === "string" && instant.test(value);
    return [name, isTime ? timeOf(value, language) : value];
  });
  return Object.fromEntries(told);
}
