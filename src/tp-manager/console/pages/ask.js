import { html, useLayoutEffect, useRef, useState } from "./vendor/htm-preact.js";

/**
 * @typedef {{ readonly title: string, readonly sentence: string, readonly confirm: string,
 *   readonly critical?: boolean, readonly more?: unknown, readonly orderId?: string | null }}
 *   Question `critical`: the button is red. `more`: what the person compares before the answer.
 *   `orderId`: the order that the action is about.
 * @typedef {(question: Question) => Promise<import("./api.js").Person | null>} Ask
 */

const NAME = "console-name";

/**
 * Shows the dialogue before an action: it says what will be done, and asks for name and reason.
 * @param {{ texts: import("./texts.js").Texts, question: Question,
 *   answer: (person: import("./api.js").Person | null) => void }} props
 */
export function AskDialogue({ texts, question, answer }) {
  const dialogue = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [name, setName] = useState(sessionStorage.getItem(NAME) ?? "");
  const [reason, setReason] = useState("");
  // Together with the change: a key that is pressed at once is the dialogue's.
  useLayoutEffect(() => {
    const box = dialogue.current;
    box?.showModal();
    // What the person compares would take the focus, and scroll the title away.
    const title = /** @type {HTMLElement | null | undefined} */ (box?.querySelector("h2"));
    if (question.more) title?.focus();
    // The browser gives the focus back to the button that opened the dialogue.
    return () => box?.close();
  }, []);
  const done = (/** @type {Event} */ event) => {
    event.preventDefault();
    sessionStorage.setItem(NAME, name.trim());
    answer({ name: name.trim(), reason: reason.trim() });
  };
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    answer(null);
  };
  return html`<dialog ref=${dialogue} aria-labelledby="ask-title" aria-describedby="ask-words"
      oncancel=${cancel}>
    <form onsubmit=${done}>
      <h2 id="ask-title" tabindex=${question.more ? "-1" : undefined}>${question.title}</h2>
      <p id="ask-words">${question.sentence}</p>
      ${question.more}
      <label>${texts("ask.name")}
        <input required maxlength="80" pattern=".*\\S.*" autocomplete="name" value=${name}
          oninput=${(/** @type {any} */ event) => setName(event.target.value)} />
      </label>
      <label>${texts("ask.reason")}
        <input required maxlength="400" pattern=".*\\S.*" autocomplete="off" value=${reason}
          oninput=${(/** @type {any} */ event) => setReason(event.target.value)} />
      </label>
      <p class="faint">${texts("ask.kept")}</p>
      <div class="row">
        <button type="submit" class=${question.critical ? "critical" : "main"}>
          ${question.confirm}</button>
        <button type="button" onclick=${cancel}>${texts("ask.cancel")}</button>
      </div>
    </form>
  </dialog>`;
}
