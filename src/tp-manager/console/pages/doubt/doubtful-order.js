import { money, moneyOfMinor, plainNumber, terminalTimeOf, timeOf } from "../format.js";
import { Detail, own } from "../said.js";
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { sentenceOf } from "../views/story-words.js";
import { likely } from "./likely.js";

/**
 * One payment that nobody knows the end of: its evidence side by side, and the word of a person.
 * @param {import("../main.js").ViewProps & { listed: any, compared: any[], act: any,
 *   first: boolean }} props
 */
export function DoubtfulOrder(props) {
  const { api, words, language, listed, compared, first } = props;
  const head = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (first) head.current?.focus();
  }, [first]);
  const [found, setFound] = useState(/** @type {any} */ (null));
  useEffect(() => {
    let stale = false;
    const path = `/story/${encodeURIComponent(listed.orderId)}`;
    void api.get(path).then(
      ({ body }) => {
        if (!stale) setFound(body);
      },
      () => {},
    );
    return () => {
      stale = true;
    };
  }, [listed.orderId, listed.status]);
  const id = `doubt-${listed.transactionId}`;
  const asked = money(listed.amount, listed.currency, language);
  return html`<section aria-labelledby=${id}>
    <h2 id=${id} ref=${head} tabindex="-1">${words("story.title", { orderId: listed.orderId })}${words("colon")}${asked}</h2>
    <p>${timeOf(listed.startedAt, language)} –
      ${" "}${own(words, `error.${listed.error?.code}`)}<${Detail} text=${listed.error?.details?.why ?? listed.error?.message} /></p>
    ${
      found &&
      html`<${Evidence} ...${props} found=${found} />
      <${Judgement} words=${words} found=${found} compared=${compared} />`
    }
    <${Word} ...${props} />
  </section>`;
}

/** @param {any} props */
function Evidence({ words, language, found, compared }) {
  const attempt = found.attempts.at(-1);
  const { currency } = found;
  const looks = attempt.events.filter((/** @type {any} */ event) => event.observation);
  const after = looks.at(-1)?.observation;
  const own = compared.filter((/** @type {any} */ one) =>
    one.orders.some((/** @type {any} */ order) => order.transactionId === found.transactionId),
  );
  return html`<div class="beside">
    <div><h3>${words("doubt.sent")}</h3>
      <p>${words("doubt.sentWords", {
        amount: money(attempt.amount, currency, language),
        time: timeOf(attempt.startedAt, language),
        number: attempt.number,
      })}</p></div>
    <div><h3>${words("doubt.before")}</h3>${transaction(attempt.baseline?.last, words, language)}</div>
    <div><h3>${words("doubt.heard")}</h3>
      <ol class="plain">${attempt.events.map(
        (/** @type {any} */ event, /** @type {number} */ at) => html`<li key=${at}>
          <span class="faint">${timeOf(event.at, language)}</span> ${told(event, currency, words, language)}
          ${event.report && transaction({ report: event.report }, words, language)}</li>`,
      )}</ol></div>
    <div><h3>${words("doubt.after")}</h3>
      ${transaction(after?.last, words, language)}</div>
    <div><h3>${words("doubt.ticket")}</h3>
      ${found.ticket ? html`<pre>${found.ticket.replaceAll("|", "\n")}</pre>` : words("doubt.nothing")}
    </div>
    <div><h3>${words("doubt.gateway")}</h3>${gateway(found.gateway, words)}</div>
    <div><h3>${words("doubt.totals")}</h3>
      ${
        own.length === 0
          ? words("doubt.nothing")
          : own.map(
              (/** @type {any} */ one) => html`<p key=${one.id}>
          ${timeOf(one.at, language)}${words("colon")}${words(`differences.${one.kind}`)}
          <${Detail} text=${one.because} />
          ${
            one.differenceMinor !== null &&
            html` (${moneyOfMinor(one.differenceMinor, one.currency ?? currency, language)})`
          }</p>`,
            )
      }
    </div>
  </div>`;
}

/**
 * The terminal's last transaction as it told it.
 * @param {any} last
 * @param {import("../words.js").Words} words
 * @param {string} language
 */
function transaction(last, words, language) {
  const report = last?.report;
  if (!report) {
    const known = last?.kind === undefined ? "doubt.notAsked" : `doubt.last.${last.kind}`;
    const text = words(known);
    return html`<p>${text === known ? words("doubt.notTold") : text}</p>`;
  }
  const { amountMinor, receiptNumber, traceNumber, maskedPan, cardName } = report;
  const currency = report.receipt?.currencyAlphaCode || "EUR";
  const time = terminalTimeOf(report.localDate, report.localTime, language);
  const rows = [
    ["doubt.amount", moneyOfMinor(amountMinor, currency, language)],
    ["doubt.result", resultOf(report, words)],
    ["doubt.receipt", receiptNumber],
    ["doubt.trace", traceNumber],
    ["doubt.card", [cardName, maskedPan].filter((one) => one).join(" ")],
    ["doubt.time", time],
  ].filter(([, value]) => value);
  return html`<dl class="tight">${rows.map(
    ([key, value]) => html`<div key=${key}><dt>${words(String(key))}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

/**
 * A good result in the page's words, another one in those of the terminal.
 * @param {any} report
 * @param {import("../words.js").Words} words
 */
function resultOf({ good, resultText, resultCode }, words) {
  if (good) return words("doubt.result.good");
  const told = resultText || resultCode;
  return told && html`<q lang="en">${told}</q>`;
}

/**
 * A step in the sentence that the payment's story has for it.
 * @param {any} event
 * @param {string} currency
 * @param {import("../words.js").Words} words
 * @param {string} language
 */
function told(event, currency, words, language) {
  const { text, quote } = sentenceOf(event, currency, words, language);
  return html`${text}${quote && html` <q lang="en">${quote}</q>`}`;
}

/**
 * @param {any} told
 * @param {import("../words.js").Words} words
 */
function gateway(told, words) {
  if (!told) return html`<p>${words("doubt.gatewayNever")}</p>`;
  const { problem, state, operations = [], possibleOrders = 0 } = told;
  const lost = operations.filter((/** @type {any} */ one) => one.state === "unknown");
  return html`<p>${problem ? words("story.gatewaySilent") : words(`gateway.${state}`)}</p>
    ${lost.map(
      (/** @type {any} */ one) => html`<p key=${one.operationId}>
      ${words("doubt.operationLost", { kind: words(`story.op.${one.kind}`) })}</p>`,
    )}
    ${possibleOrders > 1 && html`<p>${words("doubt.copies", { count: possibleOrders })}</p>`}`;
}

/** @param {any} props */
function Judgement({ words, found, compared }) {
  const { verdict, because } = likely(found, compared);
  return html`<p class="note"><strong>${words(`likely.${verdict}`)}</strong>
    ${" "}${words(`likely.because.${because}`)}</p>`;
}

/**
 * The possible words about an order, each said once and kept.
 * @param {any} props
 */
function Word({ words, listed, language, act }) {
  const [outcome, setOutcome] = useState("");
  const [amount, setAmount] = useState(plainNumber(listed.amount, language));
  const say = (/** @type {Event} */ event) => {
    event.preventDefault();
    const told = Number(amount.replace(",", "."));
    const asked = money(outcome === "charged" ? told : listed.amount, listed.currency, language);
    const body = (/** @type {import("../api.js").Person} */ { name, reason }) => ({
      outcome,
      note: `${reason} (${name})`,
      ...(outcome === "charged" ? { amount: told } : {}),
    });
    void act(`/payment/${encodeURIComponent(listed.orderId)}/settle`, body, {
      title: words(`word.${outcome}`),
      sentence: words(`word.${outcome}.sentence`, { orderId: listed.orderId, amount: asked }),
      confirm: words("word.say"),
      grave: true,
    });
  };
  const name = `word-${listed.transactionId}`;
  return html`<form onsubmit=${say}>
    <fieldset>
      <legend>${words("word.title")}</legend>
      ${["charged", "not_charged", "reversed"].map(
        (one) => html`<label key=${one}><input type="radio" name=${name} value=${one} required
          checked=${outcome === one} onchange=${() => setOutcome(one)} /> ${words(`word.${one}`)}
        </label>`,
      )}
      ${
        outcome === "charged" &&
        html`<label>${words("word.amount", { currency: listed.currency })}
        <input inputmode="decimal" required pattern="[0-9]+([.,][0-9]+)?" value=${amount}
          oninput=${(/** @type {any} */ { target }) => setAmount(target.value)} /></label>`
      }
    </fieldset>
    <button type="submit" disabled=${outcome === ""}>${words("word.go")}</button>
  </form>`;
}
