import { formatMajor } from "../../../shared/money.ts";
import type { Notification } from "../notifications/notification-store.ts";
import type { Order, OrderOperation, OrderState } from "../orders/order.ts";
import { type Html, html, htmlPage } from "./html.ts";

export interface OperatorRow {
  readonly order: Order;
  readonly operations: readonly OrderOperation[];
  readonly notifications: readonly Notification[];
}

/** The buttons of an order in each state; a button's text is also the last part of its path. */
const buttons: Readonly<Record<OrderState, readonly string[]>> = {
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
  rows: readonly OperatorRow[],
  total: number,
  latest: readonly Notification[],
  problem?: string,
): string {
  return htmlPage(
    { lang: "en", title: "Gateway sandbox" },
    html`<main>
<h1>Gateway sandbox</h1>
${problem === undefined ? undefined : html`<p class="wrong" role="alert">${problem}</p>`}
<p class="notice">${total} orders, the newest ${rows.length} are shown.
Data: <a href="/sandbox/orders">orders</a>, <a href="/sandbox/notifications">notifications</a>,
<a href="/sandbox/faults">faults</a>. Descriptions:
<a href="/soap/payment-v2?wsdl">payment</a>, <a href="/soap/transaction-v2?wsdl">transaction</a>,
<a href="/soap/refund-v2?wsdl">refund</a>.</p>
<h2>Orders</h2>
${rows.length === 0 ? html`<p>No order has come yet.</p>` : orderTable(rows)}
<h2>Latest notifications</h2>
${latest.length === 0 ? html`<p>None has been written yet.</p>` : notificationTable(latest)}
</main>`,
  ).replace("<body>", '<body class="wide">');
}

function orderTable(rows: readonly OperatorRow[]): Html {
  return html`<div class="scroll"><table id="orders">
<thead><tr><th>Received (UTC)</th><th>Reference</th><th>Transaction</th><th>Amount</th>
<th>State</th><th>Operations</th><th>Notifications</th><th>Actions</th></tr></thead>
<tbody>${rows.map(orderRow)}</tbody>
</table></div>`;
}

function notificationTable(latest: readonly Notification[]): Html {
  return html`<div class="scroll"><table id="notifications">
<thead><tr><th>Written (UTC)</th><th>Subject</th><th>Address</th><th>State</th><th>Attempts</th>
<th>Last answer</th></tr></thead>
<tbody>${latest.map(notificationRow)}</tbody>
</table></div>`;
}

function time(iso: string): Html {
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")}</time>`;
}

function orderRow({ order, operations, notifications }: OperatorRow): Html {
  const amount = (minor: number): string => formatMajor(minor, order.decimals);
  const history = operations.map(
    ({ type, status, amountMinor, fraudAt }) =>
      html`<div>${type} ${status} ${amount(amountMinor)}${fraudAt === "" ? "" : " (fraud)"}</div>`,
  );
  const sent = notifications.map(
    ({ subject, state, attempts }) => html`<div>${subject}: ${state} (${attempts})</div>`,
  );
  return html`<tr id="${order.transactionPublicId}"><td>${time(order.receivedAt)}</td>
<td class="text">${order.merchantReference}</td>
<td><a href="/index/ws/id/${order.pageId}"><code>${order.transactionPublicId}</code></a></td>
<td class="number">${amount(order.amountMinor)} ${order.currency}</td>
<td class="state">${order.state}</td><td>${history}</td><td>${sent}</td>
<td class="actions">${buttons[order.state].map((action) => button(order, action))}</td></tr>`;
}

function button(order: Order, action: string): Html {
  const { transactionPublicId } = order;
  const which = `${action} ${order.merchantReference || transactionPublicId}`;
  const amount =
    action === "capture" || action === "refund"
      ? html`<input name="amount" placeholder="amount" inputmode="decimal"
 aria-label="amount to ${which}, empty for all"> `
      : undefined;
  return html`<form method="post" action="/sandbox/orders/${transactionPublicId}/${action}">
${amount}<button class="plain" aria-label="${which}">${action}</button></form>`;
}

function notificationRow(notification: Notification): Html {
  const { createdAt, subject, url, state, attempts, outcome } = notification;
  return html`<tr><td>${time(createdAt)}</td><td>${subject}</td>
<td class="text"><code>${url}</code></td><td>${state}</td><td>${attempts}</td>
<td class="text">${outcome}</td></tr>`;
}
