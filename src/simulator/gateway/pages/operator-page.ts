import { formatMajor } from "../../../shared/money.ts";
import type { Notification } from "../notifications/notification-store.ts";
import type { Order, OrderOperation, OrderState } from "../orders/order.ts";
import catalogue from "../texts.json" with { type: "json" };
import { type Html, html, htmlPage, type Language } from "./html.ts";

export interface OperatorRow {
  readonly order: Order;
  readonly operations: readonly OrderOperation[];
  readonly notifications: readonly Notification[];
}

type Texts = typeof catalogue.operator.en;
type Action = keyof Texts["actions"];

/** The buttons of an order in each state, by the last parts of their paths. */
const buttons: Readonly<Record<OrderState, readonly Action[]>> = {
  created: ["pay", "decline", "abort", "wait"],
  waiting: ["pay", "decline", "abort"],
  authorized: ["capture", "cancel"],
  captured: ["refund", "chargeback", "fraud"],
  cancelled: [],
  refunded: ["fraud"],
  reversed: ["fraud"],
  declined: [],
  aborted: [],
};

/** Returns the sandbox's own page: the orders, their states, and buttons that play the bank. */
export function operatorPage(
  lang: Language,
  rows: readonly OperatorRow[],
  total: number,
  latest: readonly Notification[],
  problem?: string,
): string {
  const texts: Texts = catalogue.operator[lang];
  const links = Object.entries(texts.links).map(([to, text]) => html`<a href="${to}">${text}</a> `);
  const orders = rows.map((row) => orderRow(row, texts));
  const notifications = latest.map((one) => notificationRow(one, rows, texts));
  return htmlPage(
    { lang, title: texts.title },
    html`<main>
<h1>${texts.title}</h1>
${problem === undefined ? undefined : html`<p class="wrong" role="alert" lang="en">${problem}</p>`}
<p class="links">${filled(texts.shown, { total, rows: rows.length })} ${links}</p>
${table("orders", texts, orders)}
${table("notifications", texts, notifications)}
</main>`,
  ).replace("<body>", '<body class="wide">');
}

/** Returns a table, which the keys can scroll where it is wider than the window. */
function table(id: "orders" | "notifications", texts: Texts, rows: readonly Html[]): Html {
  const { title, none, columns } = texts[id];
  if (rows.length === 0) return html`<h2>${title}</h2><p>${none}</p>`;
  const heads = columns.map((column) => html`<th scope="col">${column}</th>`);
  return html`<h2>${title}</h2><div class="scroll" role="region" aria-label="${title}" tabindex="0">
<table id="${id}"><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

function filled(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

function time(iso: string): Html {
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")}</time>`;
}

function orderRow({ order, operations, notifications }: OperatorRow, texts: Texts): Html {
  const amount = (minor: number): string => formatMajor(minor, order.decimals);
  const history = operations.map(
    ({ type, status, amountMinor, fraudAt }) =>
      html`<div>${type} ${status} ${amount(amountMinor)} ${fraudAt && texts.fraud}</div>`,
  );
  const sent = notifications.map(
    ({ subject, state, attempts }) =>
      html`<div>${subject}: ${texts.deliveries[state]} (${attempts})</div>`,
  );
  const page = html`<a href="/index/ws/id/${order.pageId}">
<code>${order.transactionPublicId}</code></a>`;
  return html`<tr id="${order.transactionPublicId}">${cells(texts.orders.columns, [
    ["", time(order.receivedAt)],
    ["text", order.merchantReference],
    ["", page],
    ["number", html`${amount(order.amountMinor)} ${order.currency}`],
    ["state", texts.states[order.state]],
    ["", history],
    ["", sent],
    ["actions", buttons[order.state].map((action) => button(order, action, texts))],
  ])}</tr>`;
}

/** Returns the cells of a row; a narrow window shows them in lines, each with its column's name. */
function cells(
  columns: readonly string[],
  all: ReadonlyArray<readonly [kind: string, content: string | number | Html | readonly Html[]]>,
): readonly Html[] {
  return all.map(
    ([kind, content], at) => html`<td class="${kind}" data-head="${columns[at]}">${content}</td>`,
  );
}

function button(order: Order, action: Action, texts: Texts): Html {
  const { transactionPublicId } = order;
  const label = texts.actions[action];
  const what = `${label} ${order.merchantReference || transactionPublicId}`;
  const amount =
    action === "capture" || action === "refund"
      ? html`<input name="amount" placeholder="${texts.amount}" inputmode="decimal"
 aria-label="${filled(texts.amountTo, { what })}"> `
      : undefined;
  return html`<form method="post" action="/sandbox/orders/${transactionPublicId}/${action}">
${amount}<button class="plain" aria-label="${what}">${label}</button></form>`;
}

function notificationRow(one: Notification, rows: readonly OperatorRow[], texts: Texts): Html {
  const { createdAt, orderId, subject, url, state, attempts, outcome } = one;
  return html`<tr>${cells(texts.notifications.columns, [
    ["", time(createdAt)],
    ["text", rows.find(({ order }) => order.id === orderId)?.order.merchantReference ?? ""],
    ["", subject],
    ["text", html`<code>${url}</code>`],
    ["", texts.deliveries[state]],
    ["", attempts],
    ["text", outcome],
  ])}</tr>`;
}
