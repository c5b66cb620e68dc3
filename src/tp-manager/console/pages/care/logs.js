import { timeOf } from "../format.js";
import { faultOf } from "../said.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";

const LIVE_MS = 3_000;
const LINES = 200;
const levels = ["debug", "info", "warn", "error"];

/** @param {import("../main.js").ViewProps} props */
export function Logs({ api, words, language }) {
  const [program, setProgram] = useState("tp-manager");
  const [level, setLevel] = useState("info");
  const [contains, setContains] = useState("");
  const [live, setLive] = useState(false);
  const [shown, setShown] = useState(false);
  const [lines, setLines] = useState(/** @type {any[]} */ ([]));
  const [fault, setFault] = useState("");
  useEffect(() => {
    if (!shown) return undefined;
    let stale = false;
    const query = new URLSearchParams({ program, level, contains, limit: String(LINES) });
    const read = () =>
      api.get(`/logs?${query}`).then(
        ({ status, body }) => {
          if (stale) return;
          setFault(status === 200 ? "" : faultOf(words, body.error));
          if (status === 200) setLines(body);
        },
        () => setFault(words("noAnswer")),
      );
    void read();
    const timer = live ? setInterval(read, LIVE_MS) : undefined;
    return () => {
      stale = true;
      clearInterval(timer);
    };
  }, [program, level, contains, live, shown]);
  const chosen =
    (/** @type {(value: string) => void} */ set) =>
    (/** @type {any} */ { target }) =>
      set(target.value);
  return html`<section aria-labelledby="logs-title">
    <h2 id="logs-title">${words("logs.title")}</h2>
    ${
      !shown &&
      html`<button type="button" onclick=${() => setShown(true)}>
      ${words("logs.show")}</button>`
    }
    ${
      shown &&
      html`<div class="row">
      <label>${words("logs.program")}
        <select value=${program} onchange=${chosen(setProgram)}>
          ${["tp-manager", "supervisor"].map((one) => html`<option value=${one}>${one}</option>`)}
        </select></label>
      <label>${words("logs.level")}
        <select value=${level} onchange=${chosen(setLevel)}>
          ${levels.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
      <label>${words("logs.contains")}
        <input type="search" value=${contains} oninput=${chosen(setContains)} /></label>
      <label><input type="checkbox" checked=${live}
        onchange=${(/** @type {any} */ { target }) => setLive(target.checked)} />
        ${" "}${words("logs.live")}</label>
    </div>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    <div class="log" lang="en" role="region" tabindex="0" aria-label=${`${words("logs.title")}: ${program}`}>
      ${lines.length === 0 && html`<p>${words("logs.none")}</p>`}
      ${lines.map(
        (line, at) => html`<p key=${line.at + at}><time>${timeOf(line.at, language)}</time>
          ${" "}<span class=${`level ${line.level}`}>${line.level}</span>
          ${" "}${line.area && html`<strong>${line.area}</strong> `}${line.message}
          ${line.more && html` <span class="faint">${line.more}</span>`}</p>`,
      )}</div>`
    }
  </section>`;
}
