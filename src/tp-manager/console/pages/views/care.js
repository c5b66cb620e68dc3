import { Acts } from "../care/acts.js";
import { Doctor } from "../care/doctor.js";
import { Logs } from "../care/logs.js";
import { Settings } from "../care/settings.js";
import { Updates } from "../care/updates.js";
import { BothTerminals } from "../doubt/both-terminals.js";
import { refusal, Said, useTold } from "../said.js";
import { html, useState } from "../vendor/htm-preact.js";

/**
 * The terminal's upkeep, and what a person looks at when something is wrong.
 * @param {import("../main.js").ViewProps} props
 */
export default function Care(props) {
  const { words } = props;
  return html`<h1>${words("nav.care")}</h1>
    <${Upkeep} ...${props} />
    <${Updates} ...${props} />
    <${Doctor} ...${props} />
    <${Logs} ...${props} />
    <${Settings} ...${props} />
    <${Acts} ...${props} />`;
}

/**
 * Acts of the terminal, in the order in which they are tried.
 * @type {ReadonlyArray<{ name: string, path: string, grave?: boolean }>}
 */
const acts = [
  { name: "tlc", path: "/tlc" },
  { name: "reset", path: "/reset" },
  { name: "accept", path: "/terminal/accept", grave: true },
];

/** @param {import("../main.js").ViewProps} props */
function Upkeep({ api, ask, words }) {
  const [told, setTold] = useTold(words, /** @type {import("../said.js").Told | null} */ (null));
  const [runs, setRuns] = useState("");
  const during = async (/** @type {string} */ name, /** @type {() => Promise<any>} */ work) => {
    setRuns(name);
    setTold(null);
    try {
      const { status, body } = await work();
      setTold(status === 200 ? resultOf(name, body, words) : refusal(words, body.error));
    } catch {
      setTold({ good: false, text: words("noAnswer") });
    }
    setRuns("");
  };
  const check = () => during("check", () => api.get("/check?fresh=yes"));
  const act = async (/** @type {typeof acts[number]} */ { name, path, grave = false }) => {
    const health = name === "accept" ? await api.get("/health").catch(() => null) : null;
    const person = await ask({
      title: words(`care.${name}`),
      sentence: words(`care.${name}.sentence`),
      confirm: words(`care.${name}`),
      grave,
      more: html`<${BothTerminals} words=${words} replaced=${health?.body.replaced} />`,
    });
    if (person) await during(name, () => api.post(path, undefined, person));
  };
  return html`<section aria-labelledby="upkeep-title">
    <h2 id="upkeep-title">${words("care.upkeep")}</h2>
    <div class="row">
      <button type="button" disabled=${runs !== ""} onclick=${check}>${words("care.check")}</button>
      ${acts.map(
        (one) => html`<button key=${one.name} type="button" disabled=${runs !== ""}
        onclick=${() => act(one)}>${words(`care.${one.name}`)}</button>`,
      )}
    </div>
    <p role="status" class=${told && !told.good ? "fault" : ""}>
      ${runs ? words("care.runs", { what: words(`care.${runs}`) }) : html`<${Said} told=${told} />`}</p>
  </section>`;
}

/**
 * @param {string} name
 * @param {any} body
 * @param {import("../words.js").Words} words
 * @returns {import("../said.js").Told}
 */
function resultOf(name, body, words) {
  const good = true;
  if (name === "check") return { good, text: words(`care.cr.${body.cr}`), detail: body.detail };
  if (name !== "tlc") return { good, text: words(`care.${name}.done`), detail: body.message };
  const sums = body.App.map(
    (/** @type {any} */ { Name, Count, Sum }) => `${Name} ${Count}: ${Sum}`,
  );
  const text = [words("care.tlc.done"), sums.join(", ")].filter((one) => one).join(" – ");
  return { good, text, detail: body.reconciliation?.because };
}
