import { faultOf, own } from "../said.js";
import { html, useState } from "../vendor/htm-preact.js";

const LIMIT_MS = 150_000;

/** @param {import("../main.js").ViewProps} props */
export function Doctor({ api, words }) {
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
        (/** @type {any} */ { check, verdict, says, todo }) => html`<li key=${check + says}>
        <span class=${`verdict ${verdict}`}>${words(`doctor.${verdict}`)}</span>
        ${" "}<strong>${own(words, `doctor.of.${check.split(":")[0]}`, check)}</strong>:
        ${" "}<span lang="en">${says}</span>
        ${todo && html`<br /><span class="todo" lang="en">→ ${todo}</span>`}</li>`,
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
