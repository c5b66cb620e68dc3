import { acknowledge, outcomeOf } from "../actions.js";
import { AtGateway } from "../in-doubt/at-gateway.js";
import { attemptOf } from "../in-doubt/likely.js";
import { OrderInDoubt } from "../in-doubt/order-in-doubt.js";
import { Conditions, Differences, NewTerminal, Unmatched, Waiting } from "../in-doubt/others.js";
import { useLive } from "../live.js";
import { Answered, Silence, Unread } from "../parts.js";
import { faultOf, OutcomeText, useOutcome } from "../sentences.js";
import { html, useLayoutEffect, useRef } from "../vendor/htm-preact.js";

/** The items that are listed of each kind; further ones come when these are settled. */
const LISTED = 20;

/**
 * All that waits for a person, each with its evidence and with the decisions that a person can
 * make.
 * @param {import("../main.js").ViewProps} props
 */
export default function InDoubt(props) {
  const { api, texts, rest } = props;
  const { value, silent, again } = useLive(api, () => readAll(props));
  const [outcome, setOutcome] = useOutcome(texts);
  const line = useRef(/** @type {HTMLElement | null} */ (null));
  // What an action settles leaves the page with its button: the focus goes to the outcome above.
  useLayoutEffect(() => {
    if (outcome) line.current?.focus();
  }, [outcome]);
  /** @type {(path: string, body: object | undefined, question: any) => Promise<void>} */
  const act = async (path, body, question) => {
    const person = await props.ask(question);
    if (!person) return;
    const whole = typeof body === "function" ? body(person) : body;
    const call = () => api.post(path, whole, person);
    const text = doneText(question, texts);
    setOutcome(await outcomeOf(texts, call, ({ message }) => ({ text, detail: message })));
    again();
  };
  /** @type {(kind: string, items: readonly string[], about: string) => Promise<void>} */
  const mark = async (kind, items, about) => {
    setOutcome(await acknowledge(props, kind, items, about));
    again();
  };
  if (!value) return html`<${Unread} texts=${texts} silent=${silent} />`;
  const { health, unmatched, compared, differing, open: lost, refusals } = value;
  const at = health.clock.now;
  const changed = health.obstacles.some(
    (/** @type {any} */ { code }) => code === "TERMINAL_CHANGED",
  );
  const unknown = value.unknown.filter(
    (/** @type {any} */ { error }) => error?.code !== "PAYMENT_RUNNING",
  );
  const waiting = [...value.parked, ...value.refused];
  const hasGap = health.notes.some((/** @type {any} */ { note }) => note === "journal-doubted");
  const lists = [lost.operations, lost.copies, unknown, unmatched, waiting, differing];
  // A list that was refused, and a journal that cannot be read, hide what waits.
  const isRead = refusals.length === 0 && health.payments !== null;
  const all = [...lists, health.troubles];
  const none = isRead && !changed && all.every(({ length }) => length === 0);
  const given = { ...props, act, mark };
  return html`<h1>${texts("nav.in-doubt")}</h1>
    <div role="alert">${
      silent &&
      html`<p class="fault">${texts("now.silent")}</p><${Silence} texts=${texts} at=${at} />`
    }</div>
    <p role="status" ref=${line} tabindex="-1"
      class=${outcome ? (outcome.good ? "note good-text" : "note fault") : "empty"}>
      <${OutcomeText} outcome=${outcome} /></p>
    <${Answered} texts=${texts} silent=${silent} at=${at}>
    ${hasGap && html`<p class="note">${texts("note.journal-doubted")}</p>`}
    ${none && html`<p>${texts("inDoubt.none")}</p>`}
    ${refusals.map((text) => html`<p key=${text} class="fault">${text}</p>`)}
    ${
      changed &&
      html`<${NewTerminal} ...${given} terminal=${health.terminal}
      replaced=${health.replaced} />`
    }
    ${unknown.length > 0 && html`<p class="faint">${texts("inDoubt.steps")}</p>`}
    ${unknown.map(
      (/** @type {any} */ one) => html`<${OrderInDoubt} key=${one.orderId} ...${given}
      listed=${one} compared=${compared} first=${one.orderId === rest} />`,
    )}
    <${Waiting} ...${given} items=${waiting} />
    <${AtGateway} ...${given} open=${lost} again=${again} />
    <${Unmatched} ...${given} unmatched=${unmatched} />
    <${Differences} ...${given} compared=${differing} />
    <${Conditions} ...${given} conditions=${health.troubles} /><//>`;
}

/**
 * @param {import("../ask.js").Question} question
 * @param {import("../texts.js").Texts} texts
 */
function doneText({ title, orderId }, texts) {
  const about = orderId ? `${title}, ${texts("order", { orderId })}` : title;
  return `${about}${texts("colon")}${texts("done")}.`;
}

/** @param {import("../main.js").ViewProps} props `rest`: the order that the address names, or "" */
async function readAll({ api, texts, rest: wanted }) {
  // The supervisor may not answer, and the login may lack a right: the other lists are still shown.
  const faults = new Set();
  const list = async (/** @type {string} */ path) => {
    const { status, body } = await api.list(path);
    if (status !== 200) faults.add(faultOf(texts, body?.error));
    return status === 200 ? body : [];
  };
  const [health, gateway, ...lists] = await Promise.all([
    api.get("/health?http=200"),
    api.get(`/gateway/open?limit=${LISTED}`),
    list(`/payments?status=Unknown&limit=${LISTED}`),
    list("/unmatched-transactions?waiting=yes"),
    list(`/outbox?state=parked&limit=${LISTED}`),
    list(`/outbox?state=refused&limit=${LISTED}`),
    list(`/reconciliation?limit=${LISTED}`),
    list(`/reconciliation?limit=${LISTED}&waiting=yes`),
  ]);
  if (!health.body?.terminal) throw new Error("no answer");
  const [unknown, unmatched, parked, refused, compared, differing] = lists;
  const isListed = unknown.some((/** @type {any} */ { orderId }) => orderId === wanted);
  if (wanted && !isListed) unknown.unshift(...(await further(api, wanted)));
  const nothing = { operations: [], copies: [], more: false };
  const isRefused = gateway.status !== 200;
  if (isRefused) faults.add(faultOf(texts, gateway.body?.error));
  const open = isRefused ? nothing : gateway.body;
  const found = { health: health.body, unknown, unmatched, parked, refused, compared, differing };
  return { ...found, open, refusals: [...faults] };
}

/**
 * The order that the address names, when a person may still settle it and it is not listed.
 * @param {import("../api.js").Api} api
 * @param {string} orderId
 * @returns {Promise<any[]>}
 */
async function further(api, orderId) {
  const { status, body } = await api.get(`/story/${encodeURIComponent(orderId)}`);
  if (status !== 200 || !body.may.includes("settle")) return [];
  return [{ ...body, startedAt: attemptOf(body)?.startedAt }];
}
