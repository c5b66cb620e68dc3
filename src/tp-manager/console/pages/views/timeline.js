import { money, timeOf } from "../format.js";
import { isReversalOpen, sentenceKey } from "../open-reversal.js";
import { Facts } from "../parts.js";
import { askingText, Detail, faultOf, own } from "../sentences.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/htm-preact.js";
import { Actions, isReversedHereOnly } from "./order-actions.js";
import { Sending } from "./sending.js";
import { sentencesOf } from "./step-texts.js";
import { Tickets } from "./tickets.js";

/**
 * Shows one payment, from the request to the money paid back, in plain sentences.
 * @param {import("../main.js").ViewProps & { orderId: string, back: () => void }} props
 */
export function Timeline(props) {
  const { api, texts, orderId, back } = props;
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const head = useRef(/** @type {HTMLElement | null} */ (null));
  const read = async () => {
    try {
      setAnswer(await api.get(`/story/${encodeURIComponent(orderId)}`));
    } catch {
      setAnswer({ status: 0 });
    }
  };
  useLayoutEffect(() => head.current?.focus(), []);
  useEffect(() => void read(), []);
  const title = html`<div class="row">
    <button type="button" onclick=${back}>${texts("timeline.back")}</button>
    <h1 ref=${head} tabindex="-1">${texts("timeline.title", { orderId })}</h1></div>`;
  if (!answer) return html`${title}<p role="status">${texts("loading")}</p>`;
  const { status, body: order } = answer;
  if (status !== 200) {
    const why = status === 404 ? texts("timeline.notFound") : faultOf(texts, order?.error);
    return html`${title}<p role="status" class="fault">${why}</p>`;
  }
  return html`${title}
    <${Summary} order=${order} texts=${texts} />
    <${Actions} ...${props} order=${order} again=${read} />
    <section aria-labelledby="steps-title">
      <h2 id="steps-title">${texts("timeline.steps")}</h2>
      ${order.attempts.map(
        (/** @type {any} */ attempt) => html`<${Attempt} key=${attempt.number}
        attempt=${attempt} count=${order.attempts.length} texts=${texts} />`,
      )}
    </section>
    <${Gateway} order=${order} texts=${texts} />
    <${Tickets} order=${order} texts=${texts} />`;
}

/** @param {{ order: any, texts: import("../texts.js").Texts }} props */
function Summary({ order, texts }) {
  const { status, error, amount, chargedAmount, currency, card, notes, delivery } = order;
  const isPaid = status === "Success";
  // A note can say that an order was charged although its status is another.
  const isDoubted = notes.length > 0 && !isPaid;
  // The state at the gateway changes first; the order's own status follows within seconds.
  const back = isPaid && wentBack.test(order.gateway?.state) ? order.gateway.state : null;
  const isAllBack = back !== null && back !== "partly-refunded";
  const isRunning = error?.code === "PAYMENT_RUNNING";
  const unknown = isRunning ? "busy" : "bad";
  const kind = isAllBack
    ? "look"
    : isPaid
      ? "good"
      : status === "Unknown"
        ? unknown
        : isDoubted
          ? "look"
          : "plain";
  const isReversal = isReversalOpen(error);
  const unknownCharge = texts(isReversal ? "timeline.chargedKept" : "notKnown");
  const charged = chargedAmount === null ? unknownCharge : money(chargedAmount, currency, texts);
  const standing = isReversal
    ? sentenceKey(error)
    : `timeline.status.${isRunning ? "running" : status}`;
  const undecided = status === "Unknown" || status === "Approved" ? "notYet" : "none";
  const state = texts(`timeline.delivery.${delivery ?? undecided}`);
  const delivered = delivery === "parked" ? html`<a href="#in-doubt">${state}</a>` : state;
  const sentence = error && !saidAbove.test(error.code) ? own(texts, `error.${error.code}`) : "";
  const why = error?.details?.why ?? error?.message;
  const asking = error?.details?.asking;
  /** @type {Array<[string, unknown]>} */
  const rows = [
    ["payments.time", timeOf(order.attempts.at(-1)?.startedAt, texts, true)],
    ["timeline.asked", money(amount, currency, texts)],
    ["timeline.charged", charged],
    ...paidBack(order, texts),
    ["payments.card", card ?? texts("timeline.noCard")],
    ["payments.gateway", delivered],
  ];
  return html`<div class=${`banner ${kind}`}>
      <p class="big">${texts(standing)}</p>
      ${
        back &&
        html`<p>${texts("timeline.gateway")}${texts("colon")}${texts(`gateway.${back}`)}</p>`
      }
      ${asking && html`<p>${askingText(asking, texts)}</p>`}
      ${isDoubted && html`<p>${texts("timeline.doubted")}</p>`}
      ${
        error &&
        html`<p>${sentence}
        <${Detail} text=${`${why === sentence ? "" : why} (${error.code})`} /></p>`
      }
      ${
        isReversedHereOnly(order) &&
        html`<p>${own(texts, "condition.reversed-at-terminal-only")}</p>`
      }
    </div>
    ${
      notes.length > 0 &&
      html`<ul class="note">${notes.map(
        (/** @type {any} */ one) => html`<li>${noteText(one, currency, texts)}</li>`,
      )}</ul>`
    }
    <section aria-label=${texts("timeline.facts")}>
      <${Facts} texts=${texts} rows=${rows} />
    </section>`;
}

/** Events with which money went back. */
const backKinds = new Set([
  "reversal-report",
  "found-reversed",
  "recovery-reversed",
  "settled-by-operator",
  "gateway-return-ended",
  "gateway-return-notified",
]);

/**
 * Returns the row of the money that went back, and when; without such money none.
 * @param {any} order
 * @param {import("../texts.js").Texts} texts
 * @returns {Array<[string, unknown]>}
 */
function paidBack({ status, chargedAmount, refundable, currency, attempts }, texts) {
  const rest = status === "Reversed" ? 0 : (refundable ?? chargedAmount);
  if (chargedAmount === null || rest >= chargedAmount) return [];
  const events = attempts.flatMap((/** @type {any} */ one) => one.events);
  const last = events.findLast(
    (/** @type {any} */ { kind, state = "done", judgement = "agrees" }) =>
      backKinds.has(kind) && state === "done" && judgement === "agrees",
  );
  const sum = money(chargedAmount - rest, currency, texts);
  return [["status.Reversed", [sum, timeOf(last?.at, texts)].filter(Boolean).join(", ")]];
}

/** States in which the gateway has given money back. */
const wentBack = /^(partly-refunded|refunded|cancelled|reversed)$/;

/** Codes that the banner's first sentence is about. */
const saidAbove = /^PAYMENT_/;

/** Notes whose English text says more than the page's sentence. */
const detailed = new Set(["basket", "differs"]);

/**
 * Returns a warning of the connector as the page's own sentence.
 * @param {any} note
 * @param {string} currency
 * @param {import("../texts.js").Texts} texts
 */
function noteText({ note, says, amount, at, count }, currency, texts) {
  const values = { amount: money(amount, currency, texts), time: timeOf(at, texts) };
  const text = own(texts, `warning.${note}`, "", { ...values, count: count ?? "" });
  if (text === "") return html`<span lang="en">${says}</span>`;
  return html`${text}${detailed.has(note) && html`<${Detail} text=${says} />`}`;
}

/**
 * @param {{ attempt: any, count: number, texts: import("../texts.js").Texts }}
 *   props
 */
function Attempt({ attempt, count, texts }) {
  const { number, amount, currency, startedAt, endedAt, events, error } = attempt;
  const asked = texts("timeline.step.begun", { amount: money(amount, currency, texts) });
  const steps = [
    { at: startedAt, text: asked, kind: "begun", quote: "" },
    ...sentencesOf(events, currency, texts).map((sentence, at) => ({ ...events[at], ...sentence })),
  ];
  if (events.length === 0 && endedAt) {
    const text = texts("timeline.step.notBegun");
    steps.push({ at: endedAt, kind: "not-begun", text, quote: error?.message ?? "" });
  }
  return html`
    ${count > 1 && html`<h3>${texts("timeline.attempt", { number })}</h3>`}
    <ol class="steps">${steps.map(
      ({ at, text, quote }) => html`<li>
        <time datetime=${at}>${timeOf(at, texts)}</time>
        <span>${text}${quote && html` <q lang="en">${quote}</q>`}</span></li>`,
    )}</ol>`;
}

/**
 * A notification of the gateway: the operation, and how it ended.
 * @param {any} event
 * @param {import("../texts.js").Texts} texts
 */
function notificationText({ operation, status }, texts) {
  const what = own(texts, `gateway.op.${operation}`, operation);
  return [what, own(texts, `gateway.end.${status}`, status)].join(texts("colon"));
}

/** @param {{ order: any, texts: import("../texts.js").Texts }} props */
function Gateway({ order, texts }) {
  return html`<section aria-labelledby="gateway-title">
    <h2 id="gateway-title">${texts("timeline.gateway")}</h2>
    ${
      order.gateway === null
        ? html`<p>${texts("timeline.noGateway")}</p>`
        : order.gateway.problem
          ? html`<p class="bad-text">${texts("timeline.gatewaySilent")}</p>`
          : html`<${AtGateway} texts=${texts} gateway=${order.gateway}
            currency=${order.currency} />`
    }</section>`;
}

/** @param {{ gateway: any, currency: string, texts: import("../texts.js").Texts }} props */
function AtGateway({ gateway, currency, texts }) {
  const { state, transactionPublicIds, operations, history, possibleOrders, fraudReported } =
    gateway;
  const stands =
    state === "unknown"
      ? texts("timeline.gatewayQuiet")
      : texts("timeline.gatewayState", { state: texts(`gateway.${state}`) });
  return html`<p>${stands}
      ${
        transactionPublicIds.length > 0 &&
        html` ${texts("timeline.gatewayIds", { ids: transactionPublicIds.join(", ") })}`
      }</p>
    ${
      possibleOrders > 1 &&
      html`<p class="bad-text">${texts("timeline.copies", { count: possibleOrders })}</p>`
    }
    ${fraudReported && html`<p class="bad-text">${texts("timeline.fraud")}</p>`}
    <${Sending} steps=${gateway.sending} texts=${texts} />
    ${
      operations.length > 0 &&
      html`<h3>${texts("timeline.operations")}</h3>
      <ul class="plain">${operations.map(
        (/** @type {any} */ one) => html`<li>
          <time datetime=${one.askedAt}>${timeOf(one.askedAt, texts)}</time>${" "}
          ${texts(`timeline.op.${one.kind}`)}
          ${one.amount !== null && ` ${money(one.amount, currency, texts)}`}${texts("colon")}
          ${texts(`timeline.opState.${one.state}`)}
          ${one.description && html` <q lang="en">${one.description}</q>`}</li>`,
      )}</ul>
      ${
        operations.some((/** @type {any} */ { state }) => state === "unknown") &&
        html`<p><a href="#in-doubt">${own(texts, "act.settle")}</a></p>`
      }`
    }
    ${history.length > 0 && html`<h3>${texts("timeline.history")}</h3>`}
    <ul class="plain">${history.map(
      (/** @type {any} */ one) => html`<li>
        <time datetime=${one.at}>${timeOf(one.at, texts)}</time>${" "}
        ${notificationText(one, texts)}</li>`,
    )}</ul>`;
}
