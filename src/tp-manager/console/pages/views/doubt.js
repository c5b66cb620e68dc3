import { AtGateway } from "../doubt/at-gateway.js";
import { DoubtfulOrder } from "../doubt/doubtful-order.js";
import { Differences, NewTerminal, Strays, Waiting } from "../doubt/others.js";
import { useLive } from "../live.js";
import { html, useState } from "../vendor/htm-preact.js";

/** The first that are listed of each; the rest comes when these are settled. */
const LISTED = 20;

/**
 * All that waits for a person, each with its evidence and with the words that a person may say.
 * @param {import("../main.js").ViewProps} props
 */
export default function Doubt(props) {
  const { api, words, rest } = props;
  const { value, silent, again } = useLive(api, () => readAll(api, rest));
  const [told, setTold] = useState(/** @type {{ good: boolean, text: string } | null} */ (null));
  /** @type {(path: string, body: object | undefined, question: any) => Promise<void>} */
  const act = async (path, body, question) => {
    const person = await props.ask(question);
    if (!person) return;
    const whole = typeof body === "function" ? body(person) : body;
    try {
      const { status, body: answer } = await api.post(path, whole, person);
      const good = status === 200;
      const said = answer.error?.message ?? answer.message ?? answer.status;
      setTold({ good, text: good ? `${question.title}: ${said}` : said });
    } catch {
      setTold({ good: false, text: words("noAnswer") });
    }
    again();
  };
  if (!value) return html`<h1>${words(silent ? "noAnswer" : "loading")}</h1>`;
  const { health, unknown, strays, parked, refused, compared, open: lost } = value;
  const changed = health.obstacles.find(
    (/** @type {any} */ one) => one.code === "TERMINAL_CHANGED",
  );
  const open = unknown.filter((/** @type {any} */ one) => one.error?.code !== "PAYMENT_RUNNING");
  const differing = compared.filter(
    (/** @type {any} */ one) => one.result === "differs" || one.result === "jump",
  );
  const held = strays.filter((/** @type {any} */ { finding }) => waiting.has(finding));
  const troubles = health.troubles;
  const none =
    lost.operations.length +
      lost.copies.length +
      open.length +
      held.length +
      parked.length +
      refused.length +
      differing.length ===
      0 &&
    !changed &&
    troubles.length === 0;
  const given = { ...props, act };
  return html`<h1>${words("nav.doubt")}</h1>
    ${silent && html`<p class="fault" role="alert">${words("now.silent")}</p>`}
    <p role="status" class=${told ? (told.good ? "note good-word" : "note fault") : "empty"}>
      ${told?.text ?? ""}</p>
    ${none && html`<p>${words("doubt.none")}</p>`}
    ${changed && html`<${NewTerminal} ...${given} terminal=${health.terminal} />`}
    ${open.map(
      (/** @type {any} */ one) => html`<${DoubtfulOrder} key=${one.orderId} ...${given}
      listed=${one} compared=${compared} first=${one.orderId === rest} />`,
    )}
    ${
      troubles.length > 0 &&
      html`<section aria-labelledby="troubles-title">
      <h2 id="troubles-title">${words("doubt.troubles")}</h2>
      <ul class="plain">${troubles.map(
        (/** @type {any} */ { trouble, says, todo }) =>
          html`<li key=${trouble}><strong>${says}</strong><br />${todo}</li>`,
      )}</ul></section>`
    }
    <${Waiting} ...${given} items=${[...parked, ...refused]} />
    <${AtGateway} ...${given} open=${lost} again=${again} />
    <${Strays} ...${given} strays=${held} />
    <${Differences} ...${given} compared=${differing} />`;
}

/** Findings about a result without an order that a person has to see. */
const waiting = new Set(["open", "held", "unclear"]);

/**
 * @param {import("../api.js").Api} api
 * @param {string} wanted the order that the address names, or ""
 */
async function readAll(api, wanted) {
  const paths = [
    ...["/health", `/payments?status=Unknown&limit=${LISTED}`, "/unexpected-reports"],
    ...[`/outbox?state=parked&limit=${LISTED}`, `/outbox?state=refused&limit=${LISTED}`],
    ...[`/reconciliation?limit=${LISTED}`, `/gateway/open?limit=${LISTED}`],
  ];
  const answers = await Promise.all(paths.map((path) => api.get(path)));
  const [health, ...lists] = answers.map(({ body }) => body);
  if (!health?.terminal) throw new Error("no answer");
  // The supervisor may be silent, and the pair may lack the right: the others are shown.
  const [unknown, strays, parked, refused, compared, open] = lists.map((one, at) =>
    answers[at + 1]?.status === 200 ? one : [],
  );
  const isListed = unknown.some((/** @type {any} */ { orderId }) => orderId === wanted);
  if (wanted && !isListed) unknown.unshift(...(await further(api, wanted)));
  const nothing = { operations: [], copies: [], more: false };
  return { health, unknown, strays, parked, refused, compared, open: { ...nothing, ...open } };
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
