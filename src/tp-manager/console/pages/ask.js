import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

/**
 * @typedef {{ readonly title: string, readonly sentence: string, readonly confirm: string,
 *   readonly grave?: boolean, readonly more?: unknown }} Question
 *   `more`: what the person compares before the answer.
 * @typedef {(question: Question) => Promise<import("./api.js").Person | null>} Ask
 */

const NAME = "console-name";

/**
 * The one dialogue of everything that acts: plain words about what it will do, and who asks why.
 * @param {{ words: import("./words.js").Words, question: Question,
 *   answer: (person: import("./api.js").Person | null) => void }} props
 */
export function AskDialogue({ words, question, answer }) {
  const dialogue = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [name, setName] = useState(sessionStorage.getItem(NAME) ?? "");
  const [reason, setReason] = useState("");
  useEffect(() => {
    const own = dialogue.current;
    own?.showModal();
    // Closing gives the focus back to where it was.
    return () => own?.close();
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
      <h2 id="ask-title">${question.title}</h2>
      <p id="ask-words">${question.sentence}</p>
      ${question.more}
      <label>${words("ask.name")}
        <input required maxlength="80" pattern=".*\\S.*" autocomplete="name" value=${name}
          oninput=${(/** @type {any} */ event) => setName(event.target.value)} />
      </label>
      <label>${words("ask.reason")}
        <input required maxlength="400" pattern=".*\\S.*" autocomplete="off" value=${reason}
          oninput=${(/** @type {any} */ event) => setReason(event.target.value)} />
      </label>
      <p class="faint">${words("ask.kept")}</p>
      <div class="row">
        <button type="submit" class=${question.grave ? "grave" : "main"}>${question.confirm}</button>
        <button type="button" onclick=${cancel}>${words("ask.cancel")}</button>
      </div>
    </form>
  </dialog>`;
}
