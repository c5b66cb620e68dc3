import { Api } from "./api.js";
import { AskDialogue } from "./ask.js";
import { zoneOf } from "./format.js";
import { LogIn } from "./log-in.js";
import { Unread } from "./parts.js";
import { firstLanguage, languages, loadTexts, moreTexts } from "./texts.js";
import {
  html,
  render,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "./vendor/htm-preact.js";

/**
 * The props of every view.
 * @typedef {{ readonly api: Api, readonly ask: import("./ask.js").Ask,
 *   readonly texts: import("./texts.js").Texts,
 *   readonly goTo: (view: string) => void, readonly rest: string }} ViewProps
 *   `rest`: the address after the view's name, "A-1" of "#payments/A-1".
 * @typedef {(props: ViewProps) => unknown} View
 */

/**
 * The views in the order of the navigation; each is loaded when it is first shown.
 * @type {Record<string, () => Promise<{ default: View }>>}
 */
const views = {
  now: () => import("./views/now.js"),
  "in-doubt": () => import("./views/in-doubt.js"),
  payments: () => import("./views/payments.js"),
  day: () => import("./views/day.js"),
  maintenance: () => import("./views/maintenance.js"),
};

/** The interval of asking for a file while a view could not be loaded. */
const ASK_AGAIN_MS = 2_000;

const api = new Api();

/** @param {{ first: import("./texts.js").Texts }} props */
function Console({ first }) {
  const [texts, setTexts] = useState(() => first);
  const [session, setSession] = useState(/** @type {any} */ (api.hasToken ? undefined : null));
  const [over, setOver] = useState(false);
  useEffect(() => {
    api.onOver = (isOver) => {
      setSession(null);
      setOver(isOver);
    };
    if (session === undefined) void restore(setSession);
  }, []);
  useEffect(() => {
    document.documentElement.lang = texts.language;
    document.title = texts("title");
  }, [texts]);
  const choose = async (/** @type {string} */ language) => {
    const next = await loadTexts(language);
    setTexts(() => next);
  };
  const choice = html`<label class="language"><span class="out">${texts("language")}</span>
    <select value=${texts.language}
      onchange=${(/** @type {any} */ event) => choose(event.target.value)}>
      ${Object.entries(languages).map(([key, name]) => html`<option value=${key}>${name}</option>`)}
    </select></label>`;
  if (session === undefined) return html`<main><h1>${texts("title")}</h1></main>`;
  if (session === null) {
    const entered = (/** @type {any} */ one) => {
      setOver(false);
      setSession(one);
    };
    return html`<header><span class="name">${texts("title")}</span>
        <div class="alone">${choice}</div></header>
      <main><${LogIn} api=${api} texts=${texts} over=${over} entered=${entered} /></main>`;
  }
  return html`<${Frame} texts=${texts} session=${session} choice=${choice} />`;
}

/** @param {(session: any) => void} setSession */
async function restore(setSession) {
  try {
    const { status, body } = await api.session();
    setSession(status === 200 ? body : null);
  } catch {
    setSession(null);
  }
}

/** The view that the address names, and the rest of the address. */
function address() {
  const [name = "", ...rest] = location.hash.slice(1).split("/");
  return { name: views[name] ? name : "now", rest: decoded(rest.join("/")) };
}

/** @param {string} text of an address, which a person can have typed */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} view */
function goTo(view) {
  location.hash = view;
}

/** @typedef {{ name: string, view: View, texts: import("./texts.js").Texts }} Loaded */

/**
 * A view with its texts. The view "now" is loaded first and needs no others than the page's.
 * @param {string} name
 * @param {import("./texts.js").Texts} texts
 * @returns {Promise<Loaded | null>}
 */
async function loadView(name, texts) {
  const more = name === "now" ? texts : moreTexts(texts, "payments");
  const [loaded, all] = await Promise.all([views[name]?.(), more]);
  return loaded ? { name, view: loaded.default, texts: all } : null;
}

/**
 * Stands in place of a view whose files a stopped connector cannot serve. When files come again the
 * page is loaded anew, because a browser need not fetch a script again whose import has failed.
 * @type {View}
 */
function NotLoaded({ texts }) {
  useEffect(() => {
    const ask = async () => {
      const answer = await fetch("icon.svg", { cache: "no-store" }).catch(() => null);
      if (answer?.ok) location.reload();
    };
    const asking = setInterval(ask, ASK_AGAIN_MS);
    return () => clearInterval(asking);
  }, []);
  return html`<${Unread} texts=${texts} silent=${true} />`;
}

/**
 * Navigation, the view that the address names, and above it the dialogue of actions.
 * @param {{ texts: import("./texts.js").Texts, session: any, choice: unknown }} props
 */
function Frame({ texts, session, choice }) {
  const [at, setAt] = useState(address());
  const [loaded, setLoaded] = useState(/** @type {Loaded | null} */ (null));
  const [open, setOpen] = useState(/** @type {any} */ (null));
  useLayoutEffect(() => {
    const moved = () => setAt(address());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    let stale = false;
    const nothing = { name: "", view: NotLoaded, texts };
    void loadView(at.name, texts)
      .catch(() => nothing)
      .then((next) => {
        if (!stale) setLoaded(next);
      });
    return () => {
      stale = true;
    };
  }, [at.name, texts]);
  /** @type {import("./ask.js").Ask} */
  const ask = useMemo(
    () => (question) =>
      new Promise((resolve) => {
        setOpen({ question, answer: resolve });
      }),
    [],
  );
  const answered = (/** @type {any} */ person) => {
    open.answer(person);
    setOpen(null);
  };
  const link = (/** @type {string} */ name) =>
    html`<a href=${`#${name}`} aria-current=${at.name === name ? "page" : undefined}>
      ${texts(`nav.${name}`)}</a>`;
  const props = { api, ask, goTo, rest: at.rest };
  return html`<header>
      <span class="name">${texts("title")}</span>
      <${Menu} at=${at} texts=${texts}>
        <nav aria-label=${texts("nav")}>${Object.keys(views).map(link)}</nav>
        <span class="who"><span class="who-text">${texts("who")}</span> ${session.login}</span>
        ${choice}
        <button type="button" onclick=${() => api.logOut()}>${texts("logOut")}</button>
      <//>
    </header>
    <main>
      ${loaded && html`<${loaded.view} key=${loaded.name} ...${props} texts=${loaded.texts} />`}
      <p class="faint">${texts("zone", { zone: zoneOf(texts) })}</p>
    </main>
    ${
      open && html`<${AskDialogue} texts=${texts} question=${open.question} answer=${answered} />`
    }`;
}

/**
 * What the header has next to its name; in a narrow window a button opens it.
 * @param {{ at: { name: string }, texts: import("./texts.js").Texts, children?: unknown }} props
 */
function Menu({ at, texts, children }) {
  const [open, setOpen] = useState(false);
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  // The link that was chosen leaves the page with the menu: the focus goes to the button.
  const close = () => {
    if (!open) return;
    setOpen(false);
    button.current?.focus();
  };
  const pressed = (/** @type {KeyboardEvent} */ { key }) => {
    if (key === "Escape") close();
  };
  const clicked = (/** @type {any} */ { target }) => {
    if (target.closest("a")) close();
  };
  return html`<button type="button" class="menu" ref=${button} aria-expanded=${String(open)}
      aria-controls="menu" onclick=${() => setOpen(!open)} onkeydown=${pressed}>
      <span aria-hidden="true">${open ? "✕" : "☰"}</span> <span class="out">${texts("nav")}</span>
      ${" "}${texts(`nav.${at.name}`)}</button>
    <div id="menu" class=${open ? "open" : ""} onclick=${clicked} onkeydown=${pressed}>
      ${children}</div>`;
}

render(html`<${Console} first=${await loadTexts(firstLanguage())} />`, document.body);
