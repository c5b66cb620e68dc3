import { AtGateway } from "../doubt/at-gateway.js";
import { DoubtfulOrder } from "../doubt/doubtful-order.js";
import { Differences, NewTerminal, Troubles, Unmatched, Waiting } from "../doubt/others.js";
import { useLive } from "../live.js";
import { refusal, Said, useTold } from "../said.js";
import { markSeen } from "../seen.js";
import { html, useEffect, useRef } from "../vendor/htm-preact.js";

/** The first that are listed of each; the rest comes when these are settled. */
const LISTED = 20;

/**
 * All that waits for a person, each with its evidence and with the words that a person may say.
 * @param {import("../main.js").ViewProps} props
 */
export default function Doubt(props) {
  const { api, words, rest } = props;
  const { value, silent, again } = useLive(api, () => readAll(api, rest));
  const [told, setTold] = useTold(words, /** @type {import("../said.js").Told | null} */ (null));
  const outcome = useRef(/** @type {HTMLElement | null} */ (null));
  // The button of an act goes with what it has settled, and the outcome stands above it all.
  useEffect(() => {
    if (told) outcome.current?.focus();
  }, [told]);
  /** @type {(path: string, body: object | undefined, question: any) => Promise<void>} */
  const act = async (path, body, question) => {
    const person = await props.ask(question);
    if (!person) return;
    const whole = typeof body === "function" ? body(person) : body;
    try {
      const { status, body: answer } = await api.post(path, whole, person);
      const done = { good: true, text: `${question.title}${words("colon")}${words("done")}.` };
      setTold(status === 200 ? { ...done, detail: answer.message } : refusal(words, answer.error));
    } catch {
      setTold({ good: false, text: words("noAnswer") });
    }
    again();
  };
  /** @type {(kind: string, items: readonly string[], about: string) => Promise<void>} */
  const seen = async (kind, items, about) => {
    setTold(await markSeen(props, kind, items, about));
    again();
  };
  if (!value) return html`<h1>${words(silent ? "noAnswer" : "loading")}</h1>`;
  const { health, unknown, unmatched, parked, refused, compared, differing, open: lost } = value;
  const changed = health.obstacles.find(
    (/** @type {any} */ one) => one.code === "TERMINAL_CHANGED",
  );
  const open = unknown.filter((/** @type {any} */ one) => one.error?.code !== "PAYMENT_RUNNING");
  const isDoubted = health.notes.some((/** @type {any} */ { note }) => note === "journal-doubted");
  const troubles = health.troubles;
  const none =
    lost.operations.length +
      lost.copies.length +
      open.length +
      unmatched.length +
      parked.length +
      refused.length +
      differing.length ===
      0 &&
    !changed &&
    troubles.length === 0;
  const given = { ...props, act, seen };
  return html`<h1>${words("nav.doubt")}</h1>
    ${silent && html`<p class="fault" role="alert">${words("now.silent")}</p>`}
    <p role="status" ref=${outcome} tabindex="-1"
      class=${told ? (told.good ? "note good-word" : "note fault") : "empty"}>
      <${Said} told=${told} /></p>
    ${isDoubted && html`<p class="note">${words("note.journal-doubted")}</p>`}
    ${none && html`<p>${words("doubt.none")}</p>`}
    ${
      changed &&
      html`<${NewTerminal} ...${given} terminal=${health.terminal}
      replaced=${health.replaced} />`
    }
    ${open.map(
      (/** @type {any} */ one) => html`<${DoubtfulOrder} key=${one.orderId} ...${given}
      listed=${one} compared=${compared} first=${one.orderId === rest} />`,
    )}
    <${Troubles} ...${given} troubles=${troubles} />
    <${Waiting} ...${given} items=${[...parked, ...refused]} />
    <${AtGateway} ...${given} open=${lost} again=${again} />
    <${Unmatched} ...${given} unmatched=${unmatched} />
    <${Differences} ...${given} compared=${differing} />`;
}

/**
 * @param {import("../api.js").Api} api
 * @param {string} wanted the order that the address names, or ""
 */
async function readAll(api, wanted) {
  const paths = [
    "/health",
    `/payments?status=Unknown&limit=${LISTED}`,
    "/unmatched-transactions?waiting=yes",
    `/outbox?state=parked&limit=${LISTED}`,
    `/outbox?state=refused&limit=${LISTED}`,
    `/reconciliation?limit=${LISTED}`,
    `/gateway/open?limit=${LISTED}`,
    `/reconciliation?limit=${LISTED}&waiting=yes`,
  ];
  const answers = await Promise.all(paths.map((path) => api.get(path)));
  const [health, ...others] = answers.map(({ body }) => body);
  if (!health?.terminal) throw new Error("no answer");
  // The supervisor may be silent, and the pair may lack the right: the others are shown.
  const [unknown, unmatched, parked, refused, compared, open, differing] = others.map((one, at) =>
    answers[at + 1]?.status === 200 ? one : [],
  );
  const isListed = unknown.some((/** @type {any} */ { orderId }) => orderId === wanted);
  if (wanted && !isListed) unknown.unshift(...(await further(api, wanted)));
  const nothing = { operations: [], copies: [], more: false };
  const lists = { unknown, unmatched, parked, refused, compared, differing };
  return { health, ...lists, open: { ...nothing, ...open } };
}

/**
 * An order that a person may still say a word about, though it is not among the first.
 * @param {import("../api.js").Api} api
 * @param {string} orderId
 * @returns {Promise<any[]>}
 */
async function further(api, orderId) {
  const { status, body } = await api.get(`/story/${encodeURIComponent(orderId)}`);
  if (status !== 200 || !body.may.includes("settle")) return [];
  return [{ ...body, startedAt: body.attempts.at(-1)?.startedAt }];
}
