import { AcknowledgeButton, noteOf } from "../actions.js";
import { money, moneyOfMinor, timeOf } from "../format.js";
import { OrderLink } from "../parts.js";
import { ConditionText, Detail, own } from "../sentences.js";
import { html } from "../vendor/htm-preact.js";
import { BothTerminals } from "./both-terminals.js";

/** @param {any} props */
export function NewTerminal({ texts, terminal, replaced, act }) {
  const both = html`<${BothTerminals} texts=${texts} replaced=${replaced} />`;
  const named = [terminal.terminalId, terminal.serialNumber].filter((id) => id).join(", ");
  const accept = () =>
    act("/terminal/accept", undefined, {
      title: texts("accept"),
      sentence: texts("accept.sentence", { terminal: named }),
      confirm: texts("accept"),
      critical: true,
      more: both,
    });
  return html`<section aria-labelledby="terminal-title">
    <h2 id="terminal-title">${texts("accept.title")}</h2>
    <p>${texts("accept.words", { terminal: named })}</p>
    ${both}
    <button type="button" onclick=${accept}>${texts("accept")}</button>
  </section>`;
}

/**
 * Transactions that the gateway or the supervisor refuses.
 * @param {any} props
 */
export function Waiting({ texts, items, act }) {
  if (items.length === 0) return null;
  const path = (/** @type {any} */ item) => `/outbox/${encodeURIComponent(item.transactionId)}`;
  const requeue = (/** @type {any} */ item) =>
    act(
      `${path(item)}/requeue`,
      {},
      {
        title: texts("requeue"),
        sentence: texts("requeue.sentence", { orderId: item.orderId }),
        confirm: texts("requeue"),
        orderId: item.orderId,
      },
    );
  const drop = (/** @type {any} */ item) => {
    const { orderId } = item;
    const body = (/** @type {import("../api.js").Person} */ person) => ({ note: noteOf(person) });
    return act(`${path(item)}/drop`, body, {
      title: texts("drop"),
      sentence: texts("drop.sentence", {
        orderId,
        amount: money(item.amount, item.currency, texts),
      }),
      confirm: texts("drop"),
      critical: true,
      orderId,
    });
  };
  return html`<section aria-labelledby="waiting-title">
    <h2 id="waiting-title">${texts("waiting.title")}</h2>
    <ul class="plain">${items.map(
      (/** @type {any} */ item) => html`<li key=${item.transactionId}>
      <p><strong>${texts("timeline.title", { orderId: item.orderId })}</strong>${texts("colon")}
        ${money(item.amount, item.currency, texts)},
        ${" "}${texts(item.state === "refused" ? "waiting.refused" : "waiting.tries", {
          count: item.tries,
          time: timeOf(item.queuedAt, texts),
        })}<br /><${Detail}
          text=${reasonOf(item)} />
        ${item.ambiguous && html`<br />${texts("waiting.ambiguous")}`}</p>
      <div class="row">
        <button type="button" onclick=${() => requeue(item)}>${texts("requeue")}</button>
        <button type="button" onclick=${() => drop(item)}>${texts("drop")}</button>
      </div></li>`,
    )}</ul>
  </section>`;
}

/**
 * Returns the reason, with the gateway's answer unless the reason contains the answer. The page
 * itself says that the supervisor refuses the transaction.
 * @param {any} item
 */
function reasonOf({ state, reason, lastTry }) {
  if (state === "refused") return reason.replace(/^.*?: /, "");
  const answer = lastTry?.description ?? "";
  return reason?.includes(answer) ? reason : [reason, answer].filter((one) => one).join("; ");
}

/** The conditions about orders that end when a person acknowledges them, each with its kind. */
const acknowledgedKinds = /** @type {Record<string, string>} */ ({
  "charges-unread": "charge",
  "reversed-at-terminal-only": "return",
});

/** @param {any} props */
export function Conditions({ texts, conditions, mark }) {
  if (conditions.length === 0) return null;
  const orders = (/** @type {any} */ { trouble: name, orderIds }) => {
    const kind = acknowledgedKinds[name];
    return html`<ul class="plain">${orderIds.map(
      (/** @type {string} */ orderId) => html`<li key=${orderId} class="row">
        <${OrderLink} orderId=${orderId} text=${texts("timeline.title", { orderId })} />
        ${
          kind &&
          html`<${AcknowledgeButton} texts=${texts} label=${texts("acknowledge.order", { orderId })}
          mark=${() => mark(kind, [orderId], `${texts("order", { orderId })}.`)} />`
        }</li>`,
    )}</ul>`;
  };
  return html`<section aria-labelledby="conditions-title">
    <h2 id="conditions-title">${texts("inDoubt.conditions")}</h2>
    <ul class="plain">${conditions.map(
      (/** @type {any} */ one) => html`<li key=${one.trouble}>
        <${ConditionText} texts=${texts} condition=${one} />
        ${one.orderIds.length > 0 && orders(one)}</li>`,
    )}</ul></section>`;
}

/**
 * The button that acknowledges all listed items; a single item has a button of its own.
 * @param {any} props
 */
function AcknowledgeAll({ texts, mark, kind, listed, about }) {
  const items = listed.map((/** @type {any} */ { id }) => String(id));
  if (items.length < 2) return null;
  return html`<${AcknowledgeButton} texts=${texts} label=${texts("acknowledge.all")}
    mark=${() => mark(kind, items, `${about}${texts("colon")}${items.length}.`)} />`;
}

/**
 * Unmatched transactions of the terminal.
 * @param {any} props
 */
export function Unmatched({ texts, unmatched, mark }) {
  if (unmatched.length === 0) return null;
  return html`<section aria-labelledby="unmatched-title">
    <h2 id="unmatched-title">${texts("unmatched.title")}</h2>
    <p>${texts("unmatched.words")}</p>
    <ul class="plain">${unmatched.map(
      (/** @type {any} */ one) => html`<li key=${one.id}>
      ${timeOf(one.at, texts)}
      ${" "}<strong>${moneyOfMinor(one.amountMinor, one.currency, texts)}</strong>
      ${" "}${texts(`unmatched.${one.finding}`)}<${Detail} text=${one.because} /><br />
      <span class="faint">${[
        one.receiptNumber && `${texts("inDoubt.receipt")} ${one.receiptNumber}`,
        one.cardName,
        one.maskedPan,
        one.terminalId && `${texts("now.terminalId")} ${one.terminalId}`,
      ]
        .filter((text) => text)
        .join(", ")}</span>
      <div class="row"><${AcknowledgeButton} texts=${texts}
        mark=${() => mark("unmatched", [String(one.id)], `${texts("unmatched.title")}.`)} />
      </div></li>`,
    )}</ul>
    <${AcknowledgeAll} texts=${texts} mark=${mark} kind="unmatched" listed=${unmatched}
      about=${texts("unmatched.title")} />
  </section>`;
}

/**
 * Why a comparison came out as it did, in the page's sentence or in the connector's English text.
 * @param {{ texts: import("../texts.js").Texts, text: string }} props
 */
export function Because({ texts, text }) {
  const mine = own(texts, `because.${text}`);
  return mine ? html` <span class="faint">${mine}</span>` : html`<${Detail} text=${text} />`;
}

/** @param {any} props */
export function GatewayFaults({ texts, faults }) {
  return html`<div>${texts("eod.faults")}</div><ul class="inner">${faults.map(
    (/** @type {any} */ { orderId, amountMinor, currency, because }) => html`<li key=${orderId}>
      <${OrderLink} orderId=${orderId} />
      ${" "}${moneyOfMinor(amountMinor, currency, texts)}
      <${Because} texts=${texts} text=${because} /></li>`,
  )}</ul>`;
}

/**
 * What a comparison found: an end of day that differs and why, or between which sales receipt
 * numbers are missing.
 * @param {any} props
 */
export function Difference({ texts, one: { kind, because, receiptFrom: from, receiptTo: to } }) {
  return html`<strong>${texts(`differences.${kind}`)}</strong>${
    kind === "receipt-jump"
      ? ` ${texts("differences.between", { from, to })}`
      : html`<${Because} texts=${texts} text=${because} />`
  }`;
}

/**
 * Ends of day that differ from the journal, and receipt numbers that are missing.
 * @param {any} props
 */
export function Differences({ texts, compared, mark }) {
  if (compared.length === 0) return null;
  return html`<section aria-labelledby="differences-title">
    <h2 id="differences-title">${texts("differences.title")}</h2>
    <ul class="plain">${compared.map(
      (/** @type {any} */ one) => html`<li key=${one.id}>
      ${timeOf(one.at, texts)} <${Difference} texts=${texts} one=${one} />
      ${
        Boolean(one.differenceMinor) &&
        html`<div>${texts(one.differenceMinor < 0 ? "differences.less" : "differences.more", {
          amount: moneyOfMinor(Math.abs(one.differenceMinor), one.currency ?? "EUR", texts),
        })}</div>`
      }
      ${
        one.gateway?.faults.length > 0 &&
        html`<${GatewayFaults} texts=${texts} faults=${one.gateway.faults} />`
      }
      ${
        one.orders.length > 0 &&
        html`<div>${texts("differences.orders")}
        ${" "}${one.orders
          .map(
            (/** @type {any} */ { orderId, now }) =>
              `${orderId}${now ? ` (${texts(`status.${now}`)})` : ""}`,
          )
          .join(", ")}</div>`
      }
      <div class="row"><${AcknowledgeButton} texts=${texts}
        mark=${() =>
          mark("difference", [String(one.id)], `${texts(`differences.${one.kind}`)}.`)} />
      </div></li>`,
    )}</ul>
    <${AcknowledgeAll} texts=${texts} mark=${mark} kind="difference" listed=${compared}
      about=${texts("differences.title")} />
  </section>`;
}
