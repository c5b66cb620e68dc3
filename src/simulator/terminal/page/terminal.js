import { Bench, useFaults } from "./bench.js";
import { Device } from "./device.js";
import { around, language, languages, speak, t } from "./language.js";
import { call, followWire, say, shellLine } from "./link.js";
import { html, render, useEffect, useState } from "./vendor/htm-preact.js";
import { Wire } from "./wire.js";

/** @typedef {import("./link.js").State} State */
/** @typedef {import("./link.js").WireEvent} WireEvent */

const READ_EVERY_MS = 300;
const EVENTS_MAX = 400;

/** The state of the terminal, looked at all the time; undefined: nobody answers. */
function useTerminal() {
  const [state, setState] = useState(/** @type {State | null | undefined} */ (null));
  useEffect(() => {
    let over = false;
    const read = async () => {
      if (document.visibilityState === "visible") {
        setState(await call("/state").catch(() => undefined));
      }
      if (!over) setTimeout(read, READ_EVERY_MS);
    };
    void read();
    return () => {
      over = true;
    };
  }, []);
  return state;
}

function useWire() {
  const [events, setEvents] = useState(/** @type {readonly WireEvent[]} */ ([]));
  useEffect(() => {
    const stop = new AbortController();
    void followWire(stop.signal, (fresh) =>
      setEvents((before) => {
        const last = before.at(-1)?.seq ?? 0;
        // After a restart the simulator counts anew.
        const restarted = fresh.length > 1 && (fresh.at(-1)?.seq ?? 0) < last;
        const kept = restarted ? [] : before;
        const news = restarted ? fresh : fresh.filter(({ seq }) => seq > last);
        return [...kept, ...news].slice(-EVENTS_MAX);
      }),
    );
    return () => stop.abort();
  }, []);
  return /** @type {const} */ ([events, () => setEvents([])]);
}

function App() {
  const state = useTerminal();
  const book = useFaults();
  const [events, clearEvents] = useWire();
  const [said, setSaid] = useState({ line: "", problem: "" });
  /** @type {(action: string, asked?: Readonly<Record<string, string>>) => void} */
  const act = (action, asked) => {
    say(action, asked).then(
      () => setSaid({ line: shellLine(action, asked), problem: "" }),
      (error) => setSaid({ line: shellLine(action, asked), problem: error.message }),
    );
  };
  return html`
    <${Head} protocol=${state?.protocol} />
    ${
      state
        ? html`<main class="table">
            <${Device} state=${state} armed=${book.armed} holds=${book.holds} act=${act} />
            <${Bench} state=${state} book=${book} act=${act} />
            <${Wire} events=${events} clear=${clearEvents} />
          </main>
          <${Foot} ...${said} />`
        : html`<main>
            ${state === null ? html`<p class="away">${t("looking")}</p>` : html`<${Away} />`}
          </main>`
    }
  `;
}

/**
 * @param {{protocol: string | undefined}} props
 */
function Head({ protocol }) {
  const [before, after] = around("intro");
  const choose = (/** @type {any} */ { target }) => {
    // Without a simulator the page keeps its language.
    void speak(target.value).then(redraw, redraw);
  };
  return html`
    <header>
      <h1>${t("title")}</h1>
      <p>${protocol && html`${before}<b>${protocol}</b>${after}`}</p>
      <label class="language"><span class="spoken">${t("language")}</span>
        <select value=${language()} onChange=${choose}>
          ${Object.entries(languages).map(
            ([code, name]) => html`<option key=${code} value=${code} lang=${code}>${name}</option>`,
          )}
        </select>
      </label>
    </header>
  `;
}

function Away() {
  const [before, after] = around("away");
  return html`<p class="away" role="alert">
    ${before}<code>./launch.sh --demo</code>${after}
  </p>`;
}

/**
 * @param {{line: string, problem: string}} props the simulator's refusals are in English
 */
function Foot({ line, problem }) {
  const content =
    line === ""
      ? t("everyButton")
      : html`${problem && html`<strong lang="en">${problem}</strong> `}
          ${t("inShell")} <code>${line}</code>`;
  return html`<footer aria-live="polite"><p>${content}</p></footer>`;
}

function redraw() {
  render(html`<${App} />`, document.body);
}

redraw();
