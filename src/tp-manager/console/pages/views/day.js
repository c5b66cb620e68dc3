import { useReading } from "../actions.js";
import { csvOf, saveFile } from "../csv.js";
import { DateField } from "../date-field.js";
import { localeOf, money } from "../format.js";
import { Facts } from "../parts.js";
import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { dateOf, dayBegin, dayEnd, daysBefore } from "./dates.js";
import { Charts } from "./day-charts.js";
import { EndsOfDay } from "./ends-of-day.js";

const PAGE = 100;
/** The largest number of pages in an export, which is more than a day can have. */
const PAGES_MAX = 500;

/**
 * Shows how one day went.
 * @param {import("../main.js").ViewProps} props
 */
export default function Day(props) {
  const { api, texts, rest, goTo } = props;
  const date = /^\d{4}-\d\d-\d\d$/.test(rest) ? rest : dateOf(new Date());
  /** @type {ReturnType<typeof useReading<any>>} */
  const { value, fault, read: reading } = useReading(texts);
  const read = () => reading(() => api.get(`/day?date=${date}`));
  useEffect(() => void read(), [date]);
  const isToday = date === dateOf(new Date());
  const chosen = (/** @type {any} */ event) => {
    if (event.target.value) goTo(`day/${event.target.value}`);
  };
  const day = value?.date === date ? value : null;
  return html`
    <h1>${texts("day.title")}</h1>
    <div class="row">
      <button type="button" onclick=${() => goTo(`day/${daysBefore(date, 1)}`)}>
        ${texts("day.before")}</button>
      <${DateField} label=${texts("day.date")} texts=${texts}
        max=${dateOf(new Date())} value=${date} onchange=${chosen} />
      <button type="button" disabled=${isToday}
        onclick=${() => goTo(`day/${daysBefore(date, -1)}`)}>
        ${texts("day.after")}</button>
      <button type="button" onclick=${read}>${texts("day.again")}</button>
      ${day && html`<${Export} ...${props} date=${date} />`}
    </div>
    <p role="status" class=${fault ? "fault" : ""}>${fault || (day ? "" : texts("loading"))}</p>
    ${
      day &&
      html`<${Totals} day=${day} texts=${texts} />
      <${Charts} day=${day} texts=${texts} />
      <${EndsOfDay} ...${props} day=${day} isToday=${isToday} again=${read} />`
    }`;
}

/** @param {{ day: any, texts: import("../texts.js").Texts }} props */
function Totals({ day, texts }) {
  const { counts, sums, successShare, complete } = day;
  const percent = new Intl.NumberFormat(localeOf(texts), {
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
      ["day.charged", money(sum.charged, sum.currency, texts)],
      ["day.returned", money(sum.returned, sum.currency, texts)],
    ]),
  ];
  return html`<section aria-labelledby="totals-title">
    <h2 id="totals-title">${texts("day.totals")}</h2>
    ${!complete && html`<p class="bad-text">${texts("day.incomplete")}</p>`}
    <${Facts} texts=${texts} rows=${rows} kind="figure" /></section>`;
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
function Export({ api, texts, date }) {
  const [state, setState] = useState("");
  const save = async () => {
    setState(texts("loading"));
    try {
      const payments = await paymentsOf(api, date);
      const rows = payments.map((one) => columns.map((name) => cellOf(one[name])));
      saveFile(`payments-${date}.csv`, csvOf([columns, ...rows]));
      setState(texts("day.exported", { count: payments.length }));
    } catch {
      setState(texts("noAnswer"));
    }
  };
  return html`<button type="button" onclick=${save}>${texts("day.export")}</button>
    <span role="status">${state}</span>`;
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
