import { faultOf, useTold } from "./said.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

/**
 * @param {{ api: import("./api.js").Api, words: import("./words.js").Words, over: boolean,
 *   entered: (session: any) => void }} props
 */
export function LogIn({ api, words, over, entered }) {
  const [login, setLogin] = useState("");
  const [password, setPassword] = useState("");
  const [fault, setFault] = useTold(words, "");
  const [waits, setWaits] = useState(false);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => field.current?.focus(), []);
  const logIn = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setWaits(true);
    setFault("");
    try {
      const { status, body } = await api.logIn(login, password);
      if (status === 200) return entered(body);
      setFault(status === 401 ? words("logIn.wrong") : faultOf(words, body.error));
    } catch {
      setFault(words("noAnswer"));
    }
    setPassword("");
    setWaits(false);
  };
  return html`<form class="log-in" onsubmit=${logIn}>
    <h1>${words("logIn")}</h1>
    ${over && html`<p class="note" role="status">${words("logIn.over")}</p>`}
    <label>${words("logIn.login")}
      <input ref=${field} required autocomplete="username" value=${login}
        oninput=${(/** @type {any} */ { target }) => setLogin(target.value)} />
    </label>
    <label>${words("logIn.password")}
      <input required type="password" autocomplete="current-password" value=${password}
        oninput=${(/** @type {any} */ { target }) => setPassword(target.value)} />
    </label>
    ${fault && html`<p class="fault" role="alert">${fault}</p>`}
    <button class="main" type="submit" disabled=${waits}>
      ${words(waits ? "logIn.waits" : "logIn")}</button>
    <p class="faint">${words("logIn.which")}</p>
  </form>`;
}
