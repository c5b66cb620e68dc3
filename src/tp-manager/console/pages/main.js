import { Api } from "./api.js";
import { AskDialogue } from "./ask.js";
import { zoneOf } from "./format.js";
import { LogIn } from "./log-in.js";
import { html, render, useEffect, useMemo, useState } from "./vendor/htm-preact.js";
import { firstLanguage, languages, loadWords, moreWords } from "./words.js";

/**
 * The props of every view.
 * @typedef {{ readonly api: Api, readonly ask: import("./ask.js").Ask,
 *   readonly words: import("./words.js").Words, readonly language: string,
 *   readonly goTo: (view: string) => void, readonly role: string,
 *   readonly rest: string }} ViewProps
 *   `rest`: the address behind the view's name, "A-1" of "#payments/A-1".
 * @typedef {(props: ViewProps) => unknown} View
 */

/**
 * The views in the order of the navigation; each is loaded when it is first shown.
 * @type {Record<string, () => Promise<{ default: View }>>}
 */
const views = {
  now: () => import("./views/now.js"),
  doubt: () => import("./views/doubt.js"),
  payments: () => import("./views/payments.js"),
  day: () => import("./views/day.js"),
  care: () => import("./views/care.js"),
};

const api = new Api();
const words = await loadWords(firstLanguage());

/** @param {{ first: import("./words.js").Words }} props */
function Console({ first }) {
  const [language, setLanguage] = useState(firstLanguage());
  const [told, setWords] = useState(() => first);
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
    document.documentElement.lang = language;
    document.title = told("title");
  }, [told]);
  const speak = async (/** @type {string} */ chosen) => {
    const next = await loadWords(chosen);
    setWords(() => next);
    setLanguage(chosen);
  };
  const choice = html`<label class="language"><span class="out">${told("language")}</span>
    <select value=${language} onchange=${(/** @type {any} */ event) => speak(event.target.value)}>
      ${Object.entries(languages).map(([key, name]) => html`<option value=${key}>${name}</option>`)}
    </select></label>`;
  if (session === undefined) return html`<main><h1>${told("title")}</h1></main>`;
  if (session === null) {
    const entered = (/** @type {any} */ one) => {
      setOver(false);
      setSession(one);
    };
    return html`<header><span class="name">${told("title")}</span>
        <div class="alone">${choice}</div></header>
      <main><${LogIn} api=${api} words=${told} over=${over} entered=${entered} /></main>`;
  }
  return html`<${Frame} words=${told} language=${language} session=${session} choice=${choice} />`;
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

/** The view that the address names, and what stands behind its name. */
function address() {
  const [name = "", ...rest] = location.hash.slice(1).split("/");
  return { name: views[name] ? name : "now", rest: decodeURIComponent(rest.join("/")) };
}

/** @param {string} view */
function goTo(view) {
  location.hash = view;
}

/** @typedef {{ name: string, view: View, told: import("./words.js").Words }} Shown */

/**
 * A view with its words: the first one needs fewer of them.
 * @param {string} name
 * @param {import("./words.js").Words} words
 * @param {string} language
 * @returns {Promise<Shown | null>}
 */
async function loadView(name, words, language) {
  const more = name === "now" ? words : moreWords(words, language, "payments");
  const [loaded, told] = await Promise.all([views[name]?.(), more]);
  return loaded ? { name, view: loaded.default, told } : null;
}

/**
 * Navigation, the view that is shown, and the dialogue of acts above it.
 * @param {{ words: import("./words.js").Words, language: string, session: any, choice: unknown }}
 *   props
 */
function Frame({ words, language, session, choice }) {
  const [at, setAt] = useState(address());
  const [shown, setShown] = useState(/** @type {Shown | null} */ (null));
  const [open, setOpen] = useState(/** @type {any} */ (null));
  useEffect(() => {
    const moved = () => setAt(address());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    let stale = false;
    void loadView(at.name, words, language).then((loaded) => {
      if (!stale) setShown(loaded);
    });
    return () => {
      stale = true;
    };
  }, [at.name, words, language]);
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
      ${words(`nav.${name}`)}</a>`;
  const props = { api, ask, language, goTo, role: session.role, rest: at.rest };
  return html`<header>
      <span class="name">${words("title")}</span>
      <nav aria-label=${words("nav")}>${Object.keys(views).map(link)}</nav>
      <span class="who"><span class="who-words">${words("who")}</span> ${session.login}</span>
      ${choice}
      <button type="button" onclick=${() => api.logOut()}>${words("logOut")}</button>
    </header>
    <main>
      ${shown && html`<${shown.view} key=${shown.name} ...${props} words=${shown.told} />`}
      <p class="faint">${words("zone", { zone: zoneOf(language) })}</p>
    </main>
    ${open && html`<${AskDialogue} words=${words} question=${open.question} answer=${answered} />`}`;
}

render(html`<${Console} first=${words} />`, document.body);
