import { faultOf, OutcomeText, refusal, useOutcome, useSentence } from "./sentences.js";
import { html, useRef, useState } from "./vendor/htm-preact.js";

/**
 * @typedef {import("./texts.js").Texts} Texts
 * @typedef {import("./sentences.js").Outcome} Outcome
 * @typedef {() => Promise<import("./api.js").Answer>} Call
 */

/**
 * Returns the outcome of a call. `done` gives the outcome of an answer 200; without an answer the
 * outcome says that the connector does not answer.
 * @param {Texts} texts
 * @param {Call} call
 * @param {(body: any) => { good?: boolean, text: string, detail?: string }} done
 * @returns {Promise<Outcome>}
 */
export async function outcomeOf(texts, call, done) {
  try {
    const { status, body } = await call();
    return status === 200 ? { good: true, ...done(body) } : refusal(texts, body.error);
  } catch {
    return { good: false, text: texts("noAnswer") };
  }
}

/**
 * Returns the state that the buttons of one section share: what runs, and the last outcome.
 * @param {Texts} texts
 */
export function useAction(texts) {
  const [outcome, setOutcome] = useOutcome(texts);
  const [runs, setRuns] = useState("");
  /** @type {(label: string, ...call: [Call, Parameters<typeof outcomeOf>[2]]) => Promise<void>} */
  const run = async (label, call, done) => {
    setRuns(label);
    setOutcome(null);
    setOutcome(await outcomeOf(texts, call, done));
    setRuns("");
  };
  return { outcome, runs, run };
}

/**
 * Shows what runs, or the outcome of the last action, in one line.
 * @param {{ texts: Texts, action: { outcome: Outcome | null, runs: string } }} props
 */
export function ActionStatus({ texts, action: { outcome, runs } }) {
  return html`<p role="status" class=${outcome && !outcome.good ? "fault" : ""}>
    ${runs ? texts("maintenance.runs", { what: runs }) : html`<${OutcomeText} outcome=${outcome} />`}
  </p>`;
}

/**
 * The last good answer of a call that only reads, and the fault of the last try. The answer of an
 * older call never replaces that of a newer one.
 * @template T
 * @param {Texts} texts
 * @returns {{ value: T | null, fault: string,
 *   read: (call: Call, next?: (answer: import("./api.js").Answer, before: T | null) => T) =>
 *     Promise<void> }}
 */
export function useReading(texts) {
  const [value, setValue] = useState(/** @type {T | null} */ (null));
  const [fault, setFault] = useSentence(texts, "");
  const calls = useRef(0);
  return {
    value,
    fault,
    read: async (call, next = ({ body }) => body) => {
      calls.current += 1;
      const number = calls.current;
      const answer = await call().catch(() => null);
      if (number !== calls.current) return;
      const isGood = answer?.status === 200;
      if (isGood) setValue((before) => next(answer, before));
      setFault(isGood ? "" : faultOf(texts, answer?.body.error));
    },
  };
}

/**
 * Returns the note that is stored with a decision: the reason and the name of the person.
 * @param {import("./api.js").Person} person
 */
export function noteOf({ name, reason }) {
  return `${reason} (${name})`;
}

/**
 * Asks once, then acknowledges items of one kind (docs/console.md 4).
 * @param {import("./main.js").ViewProps} props
 * @param {string} kind
 * @param {readonly string[]} items
 * @param {string} about
 * @returns {Promise<Outcome | null>} null: the person cancelled
 */
export async function acknowledge({ api, ask, texts }, kind, items, about) {
  const person = await ask({
    title: texts("acknowledge.title"),
    sentence: `${about} ${texts("acknowledge.sentence")}`,
    confirm: texts("acknowledge.mark"),
  });
  if (!person) return null;
  const call = () => api.post("/seen", { kind, items, note: noteOf(person) }, person);
  return outcomeOf(texts, call, ({ message }) => ({
    text: texts("acknowledge.done"),
    detail: message,
  }));
}

/** @param {{ texts: Texts, label?: string, mark: () => void }} props */
export function AcknowledgeButton({ texts, label = texts("acknowledge.mark"), mark }) {
  return html`<button type="button" onclick=${mark}>${label}</button>`;
}
