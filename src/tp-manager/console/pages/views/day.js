import { csvOf, saveFile } from "../csv.js";
import { DateField } from "../date-field.js";
import { localeOf, money } from "../format.js";
import { faultOf } from "../said.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { dateOf, dayBegin, dayEnd, daysBefore } from "./dates.js";
import { Charts } from "./day-charts.js";
import { EndsOfDay } from "./ends-of-day.js";

const PAGE = 100;
/** Pages of an export: more payments than a day can have. */
const PAGES_MAX = 500;

/**
 * How one day went.
 * @param {import("../main.js").ViewProps} props
 */
export default function Day(props) {
  const { api, words, language, rest, goTo } = props;
  const date = /^\d{4}-\d\d-\d\d$/.test(rest) ? rest : dateOf(new Date());
  const [day, setDay] = useState(/** @type {any} */ (null));
  const [fault, setFault] = useState("");
  const read = async () => {
    try {
      const { status, body } = await api.get(`/day?date=${date}`);
      setFault(status === 200 ? "" : faultOf(words, body.error));
      if (status === 200) setDay(body);
    } catch {
      setFault(words("noAnswer"));
    }
  };
  useEffect(() => void read(), [date]);
  const isToday = date === dateOf(new Date());
  const chosen = (/** @type {any} */ event) => {
    if (event.target.value) goTo(`day/${event.target.value}`);
  };
  const shown = day?.date === date ? day : null;
  return html`
    <h1>${words("day.title")}</h1>
    <div class="row">
      <button type="button" onclick=${() => goTo(`day/${daysBefore(date, 1)}`)}>
        ${words("day.before")}</button>
      <${DateField} label=${words("day.date")} language=${language}
        max=${dateOf(new Date())} value=${date} onchange=${chosen} />
      <button type="button" disabled=${isToday} onclick=${() => goTo(`day/${daysBefore(date, -1)}`)}>
        ${words("day.after")}</button>
      <button type="button" onclick=${read}>${words("day.again")}</button>
      ${shown && html`<${Export} ...${props} date=${date} />`}
    </div>
    <p role="status" class=${fault ? "fault" : ""}>${fault || (shown ? "" : words("loading"))}</p>
    ${
      shown &&
      html`<${Totals} day=${shown} words=${words} language=${language} />
      <${Charts} day=${shown} words=${words} language=${language} />
      <${EndsOfDay} ...${props} day=${shown} isToday=${isToday} again=${read} />`
    }`;
}

/** @param {{ day: any, words: import("../words.js").Words, language: string }} props */
function Totals({ day, words, language }) {
  const { counts, sums, successShare, complete } = day;
  const percent = new Intl.NumberFormat(localeOf(language), {
    style: "percent",
    maximumFractionDigits: 1,
  });
  const refused = counts.Declined + counts.Cancelled + counts.Failed;
  /** @type {Array<[string, unknown, boolean?]>} */
  const rows = [
    ["day.sales", counts.Success + counts.Reversed],
    ["day.refused", refused],
    ["day.unknown", counts.Unknown, counts.Unknown > 0],
    ["day.share", successShare === null ? "–" : percent.format(successShare)],
    ...sums.flatMap((/** @type {any} */ sum) => [
      ["day.charged", money(sum.charged, sum.currency, language)],
      ["day.returned", money(sum.returned, sum.currency, language)],
    ]),
  ];
  return html`<section aria-labelledby="totals-title">
    <h2 id="totals-title">${words("day.totals")}</h2>
    ${!complete && html`<p class="bad-word">${words("day.incomplete")}</p>`}
    <dl>${rows.map(
      ([key, value, bad]) => html`<div><dt>${words(key)}</dt>
        <dd class=${bad ? "bad-word" : "figure"}>${value}</dd></div>`,
    )}</dl></section>`;
}

const columns = /** @type {const} */ ([
  "startedAt",
  "endedAt",
  "orderId",
  "attempt",
  "status",
  "error",
  "amount",
  "chargedAmount",
  "currency",
  "card",
  "notificationGatewaySent",
  "transactionId",
]);

/** @param {import("../main.js").ViewProps & { date: string }} props */
function Export({ api, words, date }) {
  const [told, setTold] = useState("");
  const save = async () => {
    setTold(words("loading"));
    try {
      const payments = await paymentsOf(api, date);
      const rows = payments.map((one) => columns.map((name) => cellOf(one[name])));
      saveFile(`payments-${date}.csv`, csvOf([columns, ...rows]));
      setTold(words("day.exported", { count: payments.length }));
    } catch {
      setTold(words("noAnswer"));
    }
  };
  return html`<button type="button" onclick=${save}>${words("day.export")}</button>
    <span role="status">${told}</span>`;
}

/** @param {unknown} value */
function cellOf(value) {
  return typeof value === "boolean" ? (value ? "yes" : "no") : /** @type {any} */ (value);
}

/**
 * @param {import("../api.js").Api} api
 * @param {string} date
 * @returns {Promise<any[]>}
 */
async function paymentsOf(api, date) {
  const payments = [];
  let cursor = "";
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const query = new URLSearchParams({ from: dayBegin(date), until: dayEnd(date) });
    query.set("limit", String(PAGE));
    if (cursor) query.set("cursor", cursor);
    const { status, body } = await api.get(`/payments/search?${query}`);
    if (status !== 200) throw new Error(body.error?.message);
    payments.push(...body.payments);
    if (body.next === null) break;
    cursor = body.next;
  }
  return payments.reverse();
}
