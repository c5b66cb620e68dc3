import { Bench } from "./bench.js";
import { Device } from "./device.js";
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
  const [events, clearEvents] = useWire();
  const [said, setSaid] = useState({ line: "", problem: "" });
  /** @type {(action: string, asked?: Readonly<Record<string, string>>) => void} */
  const act = (action, asked) => {
    say(action, asked).then(
      () => setSaid({ line: shellLine(action, asked), problem: "" }),
      (error) => setSaid({ line: shellLine(action, asked), problem: error.message }),
    );
  };
  if (state === null) return html`<main><p class="away">Looking for the terminal…</p></main>`;
  if (state === undefined) {
    return html`<main><h1>Card terminal to touch</h1>
      <p class="away" role="alert">
        The simulator does not answer. Start it with <code>./launch.sh --demo</code>.
      </p></main>`;
  }
  return html`
    <header>
      <h1>Card terminal to touch</h1>
      <p>A simulated terminal that speaks <b>${state.protocol}</b>. No card is charged.</p>
    </header>
    <main class="table">
      <${Device} state=${state} act=${act} />
      <${Bench} state=${state} act=${act} />
      <${Wire} events=${events} clear=${clearEvents} />
    </main>
    <footer aria-live="polite">
      ${
        said.line === ""
          ? html`<p>Every button here is one action in a shell, too.</p>`
          : html`<p>${said.problem && html`<strong>${said.problem}</strong> `}
              In a shell: <code>${said.line}</code></p>`
      }
    </footer>
  `;
}

render(html`<${App} />`, document.body);
