import { faultOf, useSentence } from "./sentences.js";
import { html, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";

/**
 * @param {{ api: import("./api.js").Api, texts: import("./texts.js").Texts, over: boolean,
 *   entered: (session: any) => void }} props
 */
export function LogIn({ api, texts, over, entered }) {
  const [login, setLogin] = useState("");
  const [password, setPassword] = useState("");
  const [fault, setFault] = useSentence(texts, "");
  const [waits, setWaits] = useState(false);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useLayoutEffect(() => field.current?.focus(), []);
  const logIn = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setWaits(true);
    setFault("");
    try {
      const { status, body } = await api.logIn(login, password);
      if (status === 200) return entered(body);
      setFault(status === 401 ? texts("logIn.wrong") : faultOf(texts, body.error));
    } catch {
      setFault(texts("noAnswer"));
    }
    setPassword("");
    setWaits(false);
  };
  return html`<form class="log-in" onsubmit=${logIn}>
    <h1>${texts("logIn")}</h1>
    ${over && html`<p class="note" role="status">${texts("logIn.over")}</p>`}
    <label>${texts("logIn.login")}
      <input ref=${field} required autocomplete="username" value=${login}
        oninput=${(/** @type {any} */ { target }) => setLogin(target.value)} />
    </label>
    <label>${texts("logIn.password")}
      <input required type="password" autocomplete="current-password" value=${password}
        oninput=${(/** @type {any} */ { target }) => setPassword(target.value)} />
    </label>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    <button class="main" type="submit" disabled=${waits}>
      ${texts(waits ? "logIn.waits" : "logIn")}</button>
    <p class="faint">${texts("logIn.which")}</p>
  </form>`;
}
