import { money, timeOf } from "../format.js";
import { Detail, faultOf, own } from "../said.js";
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { Sending } from "./sending.js";
import { Acts } from "./story-acts.js";
import { sentenceOf } from "./story-words.js";
import { Tickets } from "./tickets.js";

/**
 * One payment, from the request to the money that went back, in plain words.
 * @param {import("../main.js").ViewProps & { orderId: string, back: () => void }} props
 */
export function Story(props) {
  const { api, words, language, orderId, back } = props;
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const head = useRef(/** @type {HTMLElement | null} */ (null));
  const read = async () => {
    try {
      setAnswer(await api.get(`/story/${encodeURIComponent(orderId)}`));
    } catch {
      setAnswer({ status: 0 });
    }
  };
  useEffect(() => {
    head.current?.focus();
    void read();
  }, []);
  const title = html`<p><button type="button" onclick=${back}>${words("story.back")}</button></p>
    <h1 ref=${head} tabindex="-1">${words("story.title", { orderId })}</h1>`;
  if (!answer) return html`${title}<p role="status">${words("loading")}</p>`;
  const { status, body: story } = answer;
  if (status !== 200) {
    const why = status === 404 ? words("story.notFound") : faultOf(words, story?.error);
    return html`${title}<p role="status" class="fault">${why ?? words("noAnswer")}</p>`;
  }
  return html`${title}
    <${Summary} story=${story} words=${words} language=${language} />
    <${Acts} ...${props} story=${story} again=${read} />
    <section aria-labelledby="steps-title">
      <h2 id="steps-title">${words("story.steps")}</h2>
      ${story.attempts.map(
        (/** @type {any} */ attempt) => html`<${Attempt} key=${attempt.number}
        attempt=${attempt} count=${story.attempts.length} words=${words} language=${language} />`,
      )}
    </section>
    <${Gateway} story=${story} words=${words} language=${language} />
    <${Tickets} story=${story} words=${words} language=${language} />`;
}

/** @param {{ story: any, words: import("../words.js").Words, language: string }} props */
function Summary({ story, words, language }) {
  const { status, error, amount, chargedAmount, currency, card, notes, delivery } = story;
  const isPaid = status === "Success";
  // A note can say that it was charged all the same.
  const isDoubted = notes.length > 0 && !isPaid;
  // The gateway's word comes first; the order itself follows within seconds.
  const back = isPaid && wentBack.test(story.gateway?.state) ? story.gateway.state : null;
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
  const charged =
    chargedAmount === null ? words("notKnown") : money(chargedAmount, currency, language);
  const undecided = status === "Unknown" || status === "Approved" ? "notYet" : "none";
  const told = words(`story.delivery.${delivery ?? undecided}`);
  const delivered = delivery === "parked" ? html`<a href="#doubt">${told}</a>` : told;
  /** @type {Array<[string, unknown]>} */
  const rows = [
    ["payments.time", timeOf(story.attempts.at(-1)?.startedAt, language)],
    ["story.asked", money(amount, currency, language)],
    ["story.charged", charged],
    ["payments.card", card ?? words("story.noCard")],
    ["payments.gateway", delivered],
  ];
  return html`<div class=${`banner ${kind}`}>
      <p class="big">${words(`story.status.${isRunning ? "running" : status}`)}</p>
      ${back && html`<p>${[words("story.gateway"), words(`gateway.${back}`)].join(words("colon"))}</p>`}
      ${isDoubted && html`<p>${words("story.doubted")}</p>`}
      ${
        error &&
        html`<p>${!saidAbove.test(error.code) && own(words, `error.${error.code}`)}
        <${Detail} text=${`${error.details?.why ?? error.message} (${error.code})`} /></p>`
      }
    </div>
    ${
      notes.length > 0 &&
      html`<ul class="note">${notes.map(
        (/** @type {any} */ one) => html`<li>${noteTold(one, currency, words, language)}</li>`,
      )}</ul>`
    }
    <section aria-label=${words("story.facts")}>
      <dl>${rows.map(([key, value]) => html`<div><dt>${words(key)}</dt><dd>${value}</dd></div>`)}</dl>
    </section>`;
}

/** States in which the gateway has given money back. */
const wentBack = /^(partly-refunded|refunded|cancelled|reversed)$/;

/** Codes that the banner's first sentence has told. */
const saidAbove = /^PAYMENT_/;

/** Notes whose English words say more than the page's own. */
const detailed = new Set(["basket", "differs"]);

/**
 * A warning of the connector as the page's own sentence.
 * @param {any} note
 * @param {string} currency
 * @param {import("../words.js").Words} words
 * @param {string} language
 */
function noteTold({ note, says, amount, at, count }, currency, words, language) {
  const values = { amount: money(amount, currency, language), time: timeOf(at, language) };
  const text = own(words, `warning.${note}`, "", { ...values, count: count ?? "" });
  if (text === "") return html`<span lang="en">${says}</span>`;
  return html`${text}${detailed.has(note) && html`<${Detail} text=${says} />`}`;
}

/**
 * @param {{ attempt: any, count: number, words: import("../words.js").Words, language: string }}
 *   props
 */
function Attempt({ attempt, count, words, language }) {
  const { number, amount, currency, startedAt, endedAt, events, error } = attempt;
  const asked = words("story.step.begun", { amount: money(amount, currency, language) });
  const steps = [
    { at: startedAt, text: asked, kind: "begun", quote: "" },
    ...events.map((/** @type {any} */ event) => ({
      at: event.at,
      kind: event.kind,
      ...sentenceOf(event, currency, words, language),
    })),
  ];
  if (events.length === 0 && endedAt) {
    const text = words("story.step.notBegun");
    steps.push({ at: endedAt, kind: "not-begun", text, quote: error?.message ?? "" });
  }
  return html`
    ${count > 1 && html`<h3>${words("story.attempt", { number })}</h3>`}
    <ol class="steps">${steps.map(
      ({ at, text, quote }) => html`<li>
        <time datetime=${at}>${timeOf(at, language)}</time>
        <span>${text}${quote && html` <q lang="en">${quote}</q>`}</span></li>`,
    )}</ol>`;
}

/**
 * A notification of the gateway: the operation, and how that ended.
 * @param {any} event
 * @param {import("../words.js").Words} words
 */
function toldOf({ operation, status }, words) {
  const what = own(words, `gateway.op.${operation}`, operation);
  return [what, own(words, `gateway.end.${status}`, status)].join(words("colon"));
}

/** @param {{ story: any, words: import("../words.js").Words, language: string }} props */
function Gateway({ story, words, language }) {
  const { gateway, currency } = story;
  if (gateway === null)
    return html`<section aria-labelledby="gateway-title">
    <h2 id="gateway-title">${words("story.gateway")}</h2><p>${words("story.noGateway")}</p></section>`;
  if (gateway.problem)
    return html`<section aria-labelledby="gateway-title">
    <h2 id="gateway-title">${words("story.gateway")}</h2>
    <p class="bad-word">${words("story.gatewaySilent")}</p></section>`;
  const { state, transactionPublicIds, operations, history, possibleOrders, fraudReported } =
    gateway;
  const stands =
    state === "unknown"
      ? words("story.gatewayQuiet")
      : words("story.gatewayState", { state: words(`gateway.${state}`) });
  return html`<section aria-labelledby="gateway-title">
    <h2 id="gateway-title">${words("story.gateway")}</h2>
    <p>${stands}
      ${
        transactionPublicIds.length > 0 &&
        html` ${words("story.gatewayIds", { ids: transactionPublicIds.join(", ") })}`
      }</p>
    ${
      possibleOrders > 1 &&
      html`<p class="bad-word">${words("story.copies", { count: possibleOrders })}</p>`
    }
    ${fraudReported && html`<p class="bad-word">${words("story.fraud")}</p>`}
    <${Sending} steps=${gateway.sending} words=${words} language=${language} />
    ${
      operations.length > 0 &&
      html`<h3>${words("story.operations")}</h3>
      <ul class="plain">${operations.map(
        (/** @type {any} */ one) => html`<li>
          <time datetime=${one.askedAt}>${timeOf(one.askedAt, language)}</time>${" "}
          ${words(`story.op.${one.kind}`)}
          ${one.amount !== null && ` ${money(one.amount, currency, language)}`}${words("colon")}
          ${words(`story.opState.${one.state}`)}
          ${one.description && html` <q lang="en">${one.description}</q>`}</li>`,
      )}</ul>
      ${
        operations.some((/** @type {any} */ { state }) => state === "unknown") &&
        html`<p><a href="#doubt">${words("act.settle")}</a></p>`
      }`
    }
    ${history.length > 0 && html`<h3>${words("story.history")}</h3>`}
    <ul class="plain">${history.map(
      (/** @type {any} */ one) => html`<li>
        <time datetime=${one.at}>${timeOf(one.at, language)}</time>${" "}
        ${toldOf(one, words)}</li>`,
    )}</ul></section>`;
}
