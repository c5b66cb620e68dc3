import { ActionStatus, useAction } from "../actions.js";
import { plainNumber, timeOf } from "../format.js";
import { html } from "../vendor/htm-preact.js";

const MEGABYTE = 1_000_000;

/**
 * The button for a copy of both databases, and when the last one was made here, how big, and where.
 * @param {import("../main.js").ViewProps} props
 */
export function Backup({ api, ask, texts }) {
  const action = useAction(texts);
  const label = texts("backup.make");
  const make = async () => {
    const person = await ask({ title: label, sentence: texts("backup.sentence"), confirm: label });
    if (!person) return;
    await action.run(
      label,
      () => api.post("/backup", undefined, person),
      ({ copy, message }) =>
        copy
          ? { text: doneText(copy, texts), detail: copy.path }
          : { good: false, text: texts("backup.notDone"), detail: message },
    );
  };
  return html`<section aria-labelledby="backup-title">
    <h2 id="backup-title">${texts("backup.title")}</h2>
    <p>${texts("backup.words")}</p>
    <button type="button" disabled=${action.runs !== ""} onclick=${make}>${label}</button>
    <${ActionStatus} texts=${texts} action=${action} />
  </section>`;
}

/**
 * @param {{ madeAt: string, bytes: number }} copy
 * @param {import("../texts.js").Texts} texts
 */
function doneText({ madeAt, bytes }, texts) {
  const size = plainNumber(Math.ceil(bytes / MEGABYTE), texts);
  return texts("backup.done", { time: timeOf(madeAt, texts), size });
}
