import { useReading } from "../actions.js";
import { timeOf } from "../format.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";

const LIVE_MS = 3_000;
const LINES = 200;
const programs = ["tp-manager", "supervisor"];
const levels = ["debug", "info", "warn", "error"];

/** @param {import("../main.js").ViewProps} props */
export function Logs({ api, texts }) {
  const [chosen, setChosen] = useState({ program: "tp-manager", level: "info", contains: "" });
  const [live, setLive] = useState(false);
  const [open, setOpen] = useState(false);
  /** @type {ReturnType<typeof useReading<any[]>>} */
  const { value: lines, fault, read } = useReading(texts);
  useEffect(() => {
    if (!open) return undefined;
    const query = new URLSearchParams({ ...chosen, limit: String(LINES) });
    const again = () => read(() => api.list(`/logs?${query}`));
    void again();
    const timer = live ? setInterval(again, LIVE_MS) : undefined;
    return () => clearInterval(timer);
  }, [chosen, live, open]);
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) =>
    setChosen({ ...chosen, [name]: event.target.value });
  const select = (/** @type {"program" | "level"} */ name, /** @type {string[]} */ values) =>
    html`<label>${texts(`logs.${name}`)}
      <select value=${chosen[name]} onchange=${set(name)}>
        ${values.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>`;
  return html`<section aria-labelledby="logs-title">
    <h2 id="logs-title">${texts("logs.title")}</h2>
    ${
      open
        ? html`<div class="row">
      ${select("program", programs)}
      ${select("level", levels)}
      <label>${texts("logs.contains")}
        <input type="search" value=${chosen.contains} oninput=${set("contains")} /></label>
      <label><input type="checkbox" checked=${live}
        onchange=${(/** @type {any} */ { target }) => setLive(target.checked)} />
        ${" "}${texts("logs.live")}</label>
    </div>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    <div class="log" lang="en" role="region" tabindex="0"
      aria-label=${`${texts("logs.title")}: ${chosen.program}`}>
      ${!lines?.length && html`<p>${texts("logs.none")}</p>`}
      ${lines?.map(
        (line, at) => html`<p key=${line.at + at}><time>${timeOf(line.at, texts)}</time>
          ${" "}<span class=${`level ${line.level}`}>${line.level}</span>
          ${" "}${line.area && html`<strong>${line.area}</strong> `}${line.message}
          ${line.more && html` <span class="faint">${line.more}</span>`}</p>`,
      )}</div>`
        : html`<button type="button" onclick=${() => setOpen(true)}>${texts("logs.show")}</button>`
    }
  </section>`;
}
