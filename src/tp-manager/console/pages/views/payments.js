import { DateField } from "../date-field.js";
import { money, timeOf } from "../format.js";
import { faultOf, own, useSentence } from "../sentences.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { dateOf, dayBegin, dayEnd, daysBefore } from "./dates.js";
import { Timeline } from "./timeline.js";

const DAYS_DEFAULT = 7;
const PAGE = 50;
/** The number of calls without a find after which a person is asked whether to search on. */
const CALLS_MAX = 20;

const statuses = ["Success", "Approved", "Declined", "Cancelled", "Failed", "Reversed", "Unknown"];

/**
 * Shows the payments of a range of dates, or the timeline of one order.
 * @param {import("../main.js").ViewProps} props
 */
export default function Payments(props) {
  const { rest, goTo } = props;
  const back = () => goTo("payments");
  // The list stays where it was while one payment is looked at.
  return html`<div hidden=${rest !== ""}><${Search} ...${props} /></div>
    ${rest !== "" && html`<${Timeline} key=${rest} ...${props} orderId=${rest} back=${back} />`}`;
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
function Search({ api, texts, goTo }) {
  const [form, setForm] = useState(freshForm());
  const [asked, setAsked] = useState(form);
  const [found, setFound] = useState(/** @type {Found | null} */ (null));
  const [fault, setFault] = useSentence(texts, "");
  const [busy, setBusy] = useState(false);
  const go = async (/** @type {Form} */ wanted, /** @type {Found | null} */ before) => {
    setBusy(true);
    setFault("");
    try {
      setFound(await searched(api, wanted, before, texts));
    } catch (error) {
      setFault(error instanceof Refused ? error.message : texts("noAnswer"));
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
  return html`
    <h1>${texts("payments.title")}</h1>
    <${SearchForm} ...${{ form, setForm, submit, busy, texts, goTo }} />
    ${asked.card !== "" && html`<p class="note">${texts("payments.noCards")}</p>`}
    <p role="status" class=${fault ? "fault" : ""}>${fault || countText(found, busy, texts)}</p>
    ${
      found &&
      found.payments.length > 0 &&
      html`<${List} payments=${found.payments} texts=${texts} />`
    }
    ${
      found?.next &&
      html`<button type="button" disabled=${busy} onclick=${() => go(asked, found)}>
      ${texts("payments.more", { time: timeOf(found.searchedTo, texts) })}</button>`
    }`;
}

/**
 * The fields of a search, with a way to the order that is named exactly.
 * @param {Pick<import("../main.js").ViewProps, "texts" | "goTo"> & { form: Form, busy: boolean,
 *   setForm: (form: Form) => void, submit: (event: Event) => void }} props
 */
function SearchForm({ form, setForm, submit, busy, texts, goTo }) {
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) =>
    setForm({ ...form, [name]: event.target.value });
  const order = form.order.trim();
  return html`<form class="card" role="search" onsubmit=${submit}>
    <div class="fields">
      <${DateField} label=${texts("payments.from")} texts=${texts} required
        max=${form.until} value=${form.from} oninput=${set("from")} />
      <${DateField} label=${texts("payments.until")} texts=${texts} required
        min=${form.from} value=${form.until} oninput=${set("until")} />
      <label>${texts("payments.fromTime")}
        <input type="time" value=${form.fromTime} oninput=${set("fromTime")} />
      </label>
      <label>${texts("payments.untilTime")}
        <input type="time" value=${form.untilTime} oninput=${set("untilTime")} />
      </label>
      <label>${texts("payments.order")}
        <input maxlength="100" autocomplete="off" value=${form.order} oninput=${set("order")} />
      </label>
      <label>${texts("payments.amount")}
        <input inputmode="decimal" pattern="\\d{1,8}([.,]\\d{1,4})?" autocomplete="off"
          value=${form.amount} oninput=${set("amount")} />
      </label>
      <label>${texts("payments.cardEnding")}
        <input inputmode="numeric" pattern="\\d{2,4}" maxlength="4" autocomplete="off"
          value=${form.card} oninput=${set("card")} />
      </label>
      <label>${texts("payments.status")}
        <select value=${form.status} onchange=${set("status")}>
          <option value="">${texts("payments.any")}</option>
          ${statuses.map((one) => html`<option value=${one}>${texts(`status.${one}`)}</option>`)}
        </select>
      </label>
    </div>
    <div class="row">
      <button type="submit" class="main" disabled=${busy}>${texts("payments.search")}</button>
      ${
        order !== "" &&
        html`<button type="button" onclick=${() => goTo(`payments/${encodeURIComponent(order)}`)}>
        ${texts("payments.exact", { orderId: order })}</button>`
      }
    </div>
  </form>`;
}

/** A refusal whose message is a sentence for the person. */
class Refused extends Error {}

/**
 * Searches until a page is found or the range is finished.
 * @param {import("../api.js").Api} api
 * @param {Form} form
 * @param {Found | null} before
 * @param {import("../texts.js").Texts} texts
 * @returns {Promise<Found>}
 */
async function searched(api, form, before, texts) {
  const payments = [...(before?.payments ?? [])];
  const wanted = payments.length + PAGE;
  let { next, searchedTo } = before ?? { next: "", searchedTo: null };
  for (let calls = 0; calls < CALLS_MAX && next !== null; calls += 1) {
    const query = queryOf(form, next, wanted - payments.length);
    const { status, body } = await api.get(`/payments/search?${query}`);
    if (status !== 200) throw new Refused(faultOf(texts, body.error));
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
    from: dayBegin(from, fromTime),
    until: dayEnd(until, untilTime),
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
 * @param {import("../texts.js").Texts} texts
 */
function countText(found, busy, texts) {
  if (busy) return texts("loading");
  if (!found) return "";
  const count = found.payments.length;
  if (count === 0) return texts("payments.none");
  return texts(found.next ? "payments.countSoFar" : "payments.count", { count });
}

/**
 * @param {{ payments: any[], texts: import("../texts.js").Texts }} props
 */
function List({ payments, texts }) {
  const heads = ["time", "order", "status", "amount", "card", "gateway"];
  return html`<div class="scroll" role="region" tabindex="0" aria-label=${texts("payments.list")}>
    <table class="stack" role="table">
      <caption class="out">${texts("payments.list")}</caption>
      <thead role="rowgroup"><tr role="row">${heads.map(
        (key) => html`<th scope="col" role="columnheader">${texts(`payments.${key}`)}</th>`,
      )}
      </tr></thead>
      <tbody role="rowgroup">${payments.map(
        (one) => html`<${Line} key=${one.transactionId} one=${one}
        texts=${texts} />`,
      )}</tbody>
    </table></div>`;
}

const saidByStatus = /^PAYMENT_/;

/** @param {{ one: any, texts: import("../texts.js").Texts }} props */
function Line({ one, texts }) {
  const { orderId, status, error, amount, chargedAmount, currency, card, archived } = one;
  const kind = { Success: "good-text", Unknown: "bad-text" }[/** @type {string} */ (status)] ?? "";
  const why = error && !saidByStatus.test(error) ? own(texts, `error.${error}`, error) : "";
  const differs = chargedAmount !== null && chargedAmount !== 0 && chargedAmount !== amount;
  const gateway = one.notificationGatewaySent ? "sent" : chargedAmount ? "waits" : "nothing";
  const cell = (/** @type {string} */ key, /** @type {unknown} */ value) =>
    html`<td role="cell" data-head=${texts(`payments.${key}`)} class=${`cell-${key}`}>
      <span>${value}</span></td>`;
  return html`<tr role="row">
    ${cell("time", html`<time datetime=${one.startedAt}>${timeOf(one.startedAt, texts)}</time>`)}
    ${cell(
      "order",
      html`<a href=${`#payments/${encodeURIComponent(orderId)}`}>${orderId}</a>
      ${archived && html`<span class="faint"> ${texts("payments.archived")}</span>`}`,
    )}
    ${cell(
      "status",
      html`<span class=${kind}>${texts(`status.${status}`)}</span>
      ${why && html`<span class="faint"> ${why}</span>`}`,
    )}
    ${cell(
      "amount",
      html`${money(amount, currency, texts)}
      ${
        differs &&
        html`<span class="faint"> ${texts("payments.charged", {
          amount: money(chargedAmount, currency, texts),
        })}</span>`
      }`,
    )}
    ${cell("card", card ?? "–")}
    ${cell("gateway", texts(`payments.at.${gateway}`))}
  </tr>`;
}
