import { DateField } from "../date-field.js";
import { localeOf, money, timeOf } from "../format.js";
import { faultOf, own, useTold } from "../said.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { dateOf, dayBegin, dayEnd, daysBefore, minuteBegin, minuteEnd } from "./dates.js";
import { Story } from "./story.js";

const DAYS_DEFAULT = 7;
const PAGE = 50;
/** Calls of one search that find nothing, before a person is asked whether it shall go on. */
const CALLS_MAX = 20;

const statuses = ["Success", "Approved", "Declined", "Cancelled", "Failed", "Reversed", "Unknown"];

/**
 * The payments of a range of dates, and one payment's story.
 * @param {import("../main.js").ViewProps} props
 */
export default function Payments(props) {
  const { rest, goTo } = props;
  const back = () => goTo("payments");
  // The list stays where it was while one payment is looked at.
  return html`<div hidden=${rest !== ""}><${Search} ...${props} /></div>
    ${rest !== "" && html`<${Story} key=${rest} ...${props} orderId=${rest} back=${back} />`}`;
}

function today() {
  return dateOf(new Date());
}

function freshForm() {
  const until = today();
  const from = daysBefore(until, DAYS_DEFAULT - 1);
  const times = { fromTime: "", untilTime: "" };
  return { from, until, ...times, order: "", amount: "", card: "", status: "" };
}

/** @typedef {ReturnType<typeof freshForm>} Form */

/** @typedef {{ payments: any[], next: string | null, searchedTo: string | null }} Found */

/** @param {import("../main.js").ViewProps} props */
function Search({ api, words, language, goTo }) {
  const [form, setForm] = useState(freshForm());
  const [asked, setAsked] = useState(form);
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const [fault, setFault] = useTold(words, "");
  const [busy, setBusy] = useState(false);
  const go = async (/** @type {Form} */ wanted, /** @type {Found | null} */ before) => {
    setBusy(true);
    setFault("");
    try {
      setFound(await searched(api, wanted, before, words));
    } catch (error) {
      setFault(error instanceof Refused ? error.message : words("noAnswer"));
    }
    setBusy(false);
  };
  useEffect(() => void go(form, null), []);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    setAsked(form);
    setFound(null);
    void go(form, null);
  };
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) =>
    setForm({ ...form, [name]: event.target.value });
  const order = form.order.trim();
  return html`
    <h1>${words("payments.title")}</h1>
    <form class="card" role="search" onsubmit=${submit}>
      <div class="fields">
        <${DateField} label=${words("payments.from")} language=${language} required
          max=${form.until} value=${form.from} oninput=${set("from")} />
        <${DateField} label=${words("payments.until")} language=${language} required
          min=${form.from} value=${form.until} oninput=${set("until")} />
        <label>${words("payments.fromTime")}
          <input type="time" value=${form.fromTime} oninput=${set("fromTime")} />
        </label>
        <label>${words("payments.untilTime")}
          <input type="time" value=${form.untilTime} oninput=${set("untilTime")} />
        </label>
        <label>${words("payments.order")}
          <input maxlength="100" autocomplete="off" value=${form.order} oninput=${set("order")} />
        </label>
        <label>${words("payments.amount")}
          <input inputmode="decimal" pattern="\\d{1,8}([.,]\\d{1,4})?" autocomplete="off"
            placeholder=${new Intl.NumberFormat(localeOf(language)).format(9.99)} value=${form.amount} oninput=${set("amount")} />
        </label>
        <label>${words("payments.cardEnding")}
          <input inputmode="numeric" pattern="\\d{2,4}" maxlength="4" autocomplete="off"
            value=${form.card} oninput=${set("card")} />
        </label>
        <label>${words("payments.status")}
          <select value=${form.status} onchange=${set("status")}>
            <option value="">${words("payments.any")}</option>
            ${statuses.map((one) => html`<option value=${one}>${words(`status.${one}`)}</option>`)}
          </select>
        </label>
      </div>
      <div class="row">
        <button type="submit" class="main" disabled=${busy}>${words("payments.search")}</button>
        ${
          order !== "" &&
          html`<button type="button" onclick=${() => goTo(`payments/${encodeURIComponent(order)}`)}>
          ${words("payments.exact", { orderId: order })}</button>`
        }
      </div>
    </form>
    ${asked.card !== "" && html`<p class="note">${words("payments.noCards")}</p>`}
    <p role="status" class=${fault ? "fault" : ""}>${fault || countWords(found, busy, words)}</p>
    ${
      found &&
      found.payments.length > 0 &&
      html`<${List} payments=${found.payments} words=${words} language=${language} />`
    }
    ${
      found?.next &&
      html`<button type="button" disabled=${busy} onclick=${() => go(asked, found)}>
      ${words("payments.more", { time: timeOf(found.searchedTo, language) })}</button>`
    }`;
}

/** A refusal whose message is a sentence for the person. */
class Refused extends Error {}

/**
 * Goes on until a page is found or nothing is left.
 * @param {import("../api.js").Api} api
 * @param {Form} form
 * @param {Found | null} before
 * @param {import("../words.js").Words} words
 * @returns {Promise<Found>}
 */
async function searched(api, form, before, words) {
  const payments = [...(before?.payments ?? [])];
  const wanted = payments.length + PAGE;
  let { next, searchedTo } = before ?? { next: "", searchedTo: null };
  for (let calls = 0; calls < CALLS_MAX && next !== null; calls += 1) {
    const query = queryOf(form, next, wanted - payments.length);
    const { status, body } = await api.get(`/payments/search?${query}`);
    if (status !== 200) throw new Refused(faultOf(words, body.error));
    payments.push(...body.payments);
    next = body.next;
    searchedTo = body.searchedTo ?? searchedTo;
    if (payments.length >= wanted) break;
  }
  return { payments, next, searchedTo };
}

/**
 * @param {Form} form
 * @param {string} cursor
 * @param {number} limit
 */
function queryOf(form, cursor, limit) {
  const { from, fromTime, until, untilTime, order, amount, card, status } = form;
  const query = new URLSearchParams({
    from: fromTime ? minuteBegin(from, fromTime) : dayBegin(from),
    until: untilTime ? minuteEnd(until, untilTime) : dayEnd(until),
  });
  if (order.trim()) query.set("order", order.trim());
  if (amount) query.set("amount", amount.replace(",", "."));
  if (card) query.set("card", card);
  if (status) query.set("status", status);
  if (cursor) query.set("cursor", cursor);
  query.set("limit", String(limit));
  return query;
}

/**
 * @param {Found | null} found
 * @param {boolean} busy
 * @param {import("../words.js").Words} words
 */
function countWords(found, busy, words) {
  if (busy) return words("loading");
  if (!found) return "";
  const count = found.payments.length;
  if (count === 0) return words("payments.none");
  return words(found.next ? "payments.countSoFar" : "payments.count", { count });
}

/**
 * @param {{ payments: any[], words: import("../words.js").Words, language: string }} props
 */
function List({ payments, words, language }) {
  const heads = ["time", "order", "status", "amount", "card", "gateway"];
  return html`<div class="scroll" role="region" tabindex="0" aria-label=${words("payments.list")}>
    <table class="stack" role="table">
      <caption class="out">${words("payments.list")}</caption>
      <thead role="rowgroup"><tr role="row">${heads.map((key) => html`<th scope="col" role="columnheader">${words(`payments.${key}`)}</th>`)}
      </tr></thead>
      <tbody role="rowgroup">${payments.map(
        (one) => html`<${Line} key=${one.transactionId} one=${one}
        words=${words} language=${language} />`,
      )}</tbody>
    </table></div>`;
}

const saidByStatus = /^PAYMENT_/;

/** @param {{ one: any, words: import("../words.js").Words, language: string }} props */
function Line({ one, words, language }) {
  const { orderId, status, error, amount, chargedAmount, currency, card, archived } = one;
  const kind = { Success: "good-word", Unknown: "bad-word" }[/** @type {string} */ (status)] ?? "";
  const why = error && !saidByStatus.test(error) ? own(words, `error.${error}`, error) : "";
  const differs = chargedAmount !== null && chargedAmount !== 0 && chargedAmount !== amount;
  const gateway = one.notificationGatewaySent ? "sent" : chargedAmount ? "waits" : "nothing";
  const cell = (/** @type {string} */ key, /** @type {unknown} */ value) =>
    html`<td role="cell" data-head=${words(`payments.${key}`)} class=${`cell-${key}`}><span>${value}</span></td>`;
  return html`<tr role="row">
    ${cell("time", html`<time datetime=${one.startedAt}>${timeOf(one.startedAt, language)}</time>`)}
    ${cell(
      "order",
      html`<a href=${`#payments/${encodeURIComponent(orderId)}`}>${orderId}</a>
      ${archived && html`<span class="faint"> ${words("payments.archived")}</span>`}`,
    )}
    ${cell(
      "status",
      html`<span class=${kind}>${words(`status.${status}`)}</span>
      ${why && html`<span class="faint"> ${why}</span>`}`,
    )}
    ${cell(
      "amount",
      html`${money(amount, currency, language)}
      ${
        differs &&
        html`<span class="faint"> ${words("payments.charged", {
          amount: money(chargedAmount, currency, language),
        })}</span>`
      }`,
    )}
    ${cell("card", card ?? "–")}
    ${cell("gateway", words(`payments.at.${gateway}`))}
  </tr>`;
}
