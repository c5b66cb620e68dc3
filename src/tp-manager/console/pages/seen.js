import { refusal } from "./said.js";
import { html } from "./vendor/htm-preact.js";

/**
 * Asks once, then says that a person has dealt with something (docs/console.md 4).
 * @param {import("./main.js").ViewProps} props
 * @param {string} kind
 * @param {readonly string[]} items
 * @param {string} about
 * @returns {Promise<import("./said.js").Told | null>} null: the dialogue was left
 */
export async function markSeen({ api, ask, words }, kind, items, about) {
  const person = await ask({
    title: words("seen.title"),
    sentence: `${about} ${words("seen.sentence")}`,
    confirm: words("seen.mark"),
  });
  if (!person) return null;
  const note = `${person.reason} (${person.name})`;
  try {
    const { status, body } = await api.post("/seen", { kind, items, note }, person);
    if (status !== 200) return refusal(words, body.error);
    return { good: true, text: words("seen.done"), detail: body.message };
  } catch {
    return { good: false, text: words("noAnswer") };
  }
}

/**
 * The button of one thing, and of all that are listed.
 * @param {{ words: import("./words.js").Words, label?: string, mark: () => void }} props
 */
export function SeenButton({ words, label = words("seen.mark"), mark }) {
  return html`<button type="button" onclick=${mark}>${label}</button>`;
}
