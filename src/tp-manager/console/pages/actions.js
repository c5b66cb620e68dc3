import { faultOf, OutcomeText, refusal, useOutcome, useSentence } from "./sentences.js";
import { html, useRef, useState } from "./vendor/htm-preact.js";

/**
 * @typedef {import("./texts.js").Texts} Texts
 * @typedef {import("./sentences.js").Outcome} Outcome
 * @typedef {() => Promise<import("./api.js").Answer>} Call
 */

/**
 * Returns the answer of a call; null: there is none. A call can throw before it is sent.
 * @param {Call} call
 * @returns {Promise<import("./api.js").Answer | null>}
 */
const answerOf = (call) =>
  Promise.resolve()
    .then(call)
    .catch(() => null);

/**
 * Returns the outcome of a call. `done` gives the outcome of an answer 200. Without an answer, and
 * with the status Unknown, it is not known whether a call that changes something was carried out.
 * @param {Texts} texts
 * @param {Call} call
 * @param {(body: any) => { good?: boolean, text: string, detail?: string }} done
 * @param {boolean} [reads] whether the call only reads
 * @returns {Promise<Outcome>}
 */
export async function outcomeOf(texts, call, done, reads = false) {
  const answer = await answerOf(call);
  let body = answer?.body;
  try {
    if (answer?.status === 200) return { good: true, ...done(body) };
  } catch {
    body = null;
  }
  const refused = body ? refusal(texts, body.error) : { good: false, text: texts("noAnswer") };
  const isKnown = reads || (body && body.status !== "Unknown");
  return isKnown ? refused : { ...refused, text: `${texts("act.unknown")} ${refused.text}` };
}

/**
 * Returns the state that the buttons of one section share: what runs, and the last outcome.
 * @param {Texts} texts
 */
export function useAction(texts) {
  const [outcome, setOutcome] = useOutcome(texts);
  const [runs, setRuns] = useState("");
  /**
   * @type {(label: string,
   *   ...call: [Call, Parameters<typeof outcomeOf>[2], boolean?]) => Promise<void>}
   */
  const run = async (label, call, done, reads) => {
    setRuns(label);
    setOutcome(null);
    setOutcome(await outcomeOf(texts, call, done, reads));
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
    ${
      runs ? texts("maintenance.runs", { what: runs }) : html`<${OutcomeText} outcome=${outcome} />`
    }
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
      const answer = await answerOf(call);
      if (number !== calls.current) return;
      const isGood = answer?.status === 200;
      if (isGood) setValue((before) => next(answer, before));
      setFault(isGood ? "" : faultOf(texts, answer?.body?.error));
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
    title: texts("acknowledge.mark"),
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
