import { money, moneyOfMinor, timeOf } from "../format.js";
import { Detail, TroubleTold } from "../said.js";
import { SeenButton } from "../seen.js";
import { html } from "../vendor/htm-preact.js";
import { BothTerminals } from "./both-terminals.js";

/** @param {any} props */
export function NewTerminal({ words, terminal, replaced, act }) {
  const both = html`<${BothTerminals} words=${words} replaced=${replaced} />`;
  const named = [terminal.terminalId, terminal.serialNumber].filter((id) => id).join(", ");
  const accept = () =>
    act("/terminal/accept", undefined, {
      title: words("accept"),
      sentence: words("accept.sentence", { terminal: named }),
      confirm: words("accept"),
      grave: true,
      more: both,
    });
  return html`<section aria-labelledby="terminal-title">
    <h2 id="terminal-title">${words("accept.title")}</h2>
    <p>${words("accept.words", { terminal: named })}</p>
    ${both}
    <button type="button" onclick=${accept}>${words("accept")}</button>
  </section>`;
}

/**
 * Transactions that the gateway or the supervisor does not take.
 * @param {any} props
 */
export function Waiting({ words, language, items, act }) {
  if (items.length === 0) return null;
  const path = (/** @type {any} */ item) => `/outbox/${encodeURIComponent(item.transactionId)}`;
  const requeue = (/** @type {any} */ item) =>
    act(
      `${path(item)}/requeue`,
      {},
      {
        title: words("requeue"),
        sentence: words("requeue.sentence", { orderId: item.orderId }),
        confirm: words("requeue"),
      },
    );
  const drop = (/** @type {any} */ item) =>
    act(
      `${path(item)}/drop`,
      (/** @type {import("../api.js").Person} */ { name, reason }) => ({
        note: `${reason} (${name})`,
      }),
      {
        title: words("drop"),
        sentence: words("drop.sentence", {
          orderId: item.orderId,
          amount: money(item.amount, item.currency, language),
        }),
        confirm: words("drop"),
        grave: true,
      },
    );
  return html`<section aria-labelledby="waiting-title">
    <h2 id="waiting-title">${words("waiting.title")}</h2>
    <ul class="plain">${items.map(
      (/** @type {any} */ item) => html`<li key=${item.transactionId}>
      <p><strong>${words("story.title", { orderId: item.orderId })}</strong>${words("colon")}
        ${money(item.amount, item.currency, language)}, ${words("waiting.tries", {
          count: item.tries,
          time: timeOf(item.queuedAt, language),
        })}<br /><${Detail}
          text=${reasonOf(item)} />
        ${item.ambiguous && html`<br />${words("waiting.ambiguous")}`}</p>
      <div class="row">
        <button type="button" onclick=${() => requeue(item)}>${words("requeue")}</button>
        <button type="button" onclick=${() => drop(item)}>${words("drop")}</button>
      </div></li>`,
    )}</ul>
  </section>`;
}

/**
 * The reason mostly ends with what the gateway said.
 * @param {any} item
 */
function reasonOf({ reason, lastTry }) {
  const told = lastTry?.description ?? "";
  return reason?.includes(told) ? reason : [reason, told].filter((one) => one).join("; ");
}

/** Troubles about orders that end when a person has seen them. */
const seenKinds = /** @type {Record<string, string>} */ ({
  "charges-unread": "charge",
  "reversed-at-terminal-only": "return",
});

/** @param {any} props */
export function Troubles({ words, troubles, seen }) {
  if (troubles.length === 0) return null;
  const orders = (/** @type {any} */ { trouble, orderIds }) => {
    const kind = seenKinds[trouble];
    return html`<ul class="plain">${orderIds.map(
      (/** @type {string} */ orderId) => html`<li key=${orderId} class="row">
        <a href=${`#payments/${encodeURIComponent(orderId)}`}>${words("story.title", { orderId })}</a>
        ${
          kind &&
          html`<${SeenButton} words=${words} label=${words("seen.order", { orderId })}
          mark=${() => seen(kind, [orderId], words("order", { orderId }))} />`
        }</li>`,
    )}</ul>`;
  };
  return html`<section aria-labelledby="troubles-title">
    <h2 id="troubles-title">${words("doubt.troubles")}</h2>
    <ul class="plain">${troubles.map(
      (/** @type {any} */ trouble) => html`<li key=${trouble.trouble}>
        <${TroubleTold} words=${words} trouble=${trouble} />
        ${trouble.orderIds.length > 0 && orders(trouble)}</li>`,
    )}</ul></section>`;
}

/**
 * Marks all that are listed at once; with one there is its own button only.
 * @param {any} props
 */
function SeenAll({ words, seen, kind, listed, about }) {
  const items = listed.map((/** @type {any} */ { id }) => String(id));
  if (items.length < 2) return null;
  return html`<${SeenButton} words=${words} label=${words("seen.all")}
    mark=${() => seen(kind, items, `${about}${words("colon")}${items.length}.`)} />`;
}

/**
 * Unmatched transactions of the terminal.
 * @param {any} props
 */
export function Unmatched({ words, language, unmatched, seen }) {
  if (unmatched.length === 0) return null;
  return html`<section aria-labelledby="unmatched-title">
    <h2 id="unmatched-title">${words("unmatched.title")}</h2>
    <p>${words("unmatched.words")}</p>
    <ul class="plain">${unmatched.map(
      (/** @type {any} */ one) => html`<li key=${one.id}>
      ${timeOf(one.at, language)}
      ${" "}<strong>${moneyOfMinor(one.amountMinor, one.currency, language)}</strong>
      ${" "}${words(`unmatched.${one.finding}`)}<${Detail} text=${one.because} /><br />
      <span class="faint">${[
        one.receiptNumber && `${words("doubt.receipt")} ${one.receiptNumber}`,
        one.cardName,
        one.maskedPan,
        one.terminalId && `${words("now.terminalId")} ${one.terminalId}`,
      ]
        .filter((text) => text)
        .join(", ")}</span>
      <div class="row"><${SeenButton} words=${words}
        mark=${() => seen("unmatched", [String(one.id)], words("unmatched.title"))} /></div></li>`,
    )}</ul>
    <${SeenAll} words=${words} seen=${seen} kind="unmatched" listed=${unmatched}
      about=${words("unmatched.title")} />
  </section>`;
}

/** @param {any} props */
function GatewayFaults({ words, language, faults }) {
  return html`<div>${words("eod.faults")}</div><ul class="inner">${faults.map(
    (/** @type {any} */ { orderId, amountMinor, currency, because }) => html`<li key=${orderId}>
      <a href=${`#payments/${encodeURIComponent(orderId)}`}>${orderId}</a>
      ${" "}${moneyOfMinor(amountMinor, currency, language)}<${Detail} text=${because} /></li>`,
  )}</ul>`;
}

/**
 * Ends of day that differ from the journal, and receipt numbers that are missing.
 * @param {any} props
 */
export function Differences({ words, language, compared, seen }) {
  if (compared.length === 0) return null;
  return html`<section aria-labelledby="differences-title">
    <h2 id="differences-title">${words("differences.title")}</h2>
    <ul class="plain">${compared.map(
      (/** @type {any} */ one) => html`<li key=${one.id}>
      ${timeOf(one.at, language)} <strong>${words(`differences.${one.kind}`)}</strong>
      <${Detail} text=${one.because} />
      ${
        Boolean(one.differenceMinor) &&
        html`<div>${words(one.differenceMinor < 0 ? "differences.less" : "differences.more", {
          amount: moneyOfMinor(Math.abs(one.differenceMinor), one.currency ?? "EUR", language),
        })}</div>`
      }
      ${one.gateway?.faults.length > 0 && html`<${GatewayFaults} ...${{ words, language, faults: one.gateway.faults }} />`}
      ${
        one.orders.length > 0 &&
        html`<div>${words("differences.orders")}
        ${" "}${one.orders
          .map(
            (/** @type {any} */ { orderId, now }) =>
              `${orderId}${now ? ` (${words(`status.${now}`)})` : ""}`,
          )
          .join(", ")}</div>`
      }
      <div class="row"><${SeenButton} words=${words}
        mark=${() => seen("difference", [String(one.id)], words(`differences.${one.kind}`))} />
      </div></li>`,
    )}</ul>
    <${SeenAll} words=${words} seen=${seen} kind="difference" listed=${compared}
      about=${words("differences.title")} />
  </section>`;
}
