import { moneyOfMinor } from "../format.js";
import { html, useState } from "../vendor/htm-preact.js";

/** Fields of the receipt for programs: they say how other fields are written. */
const technical = new Set([
  "currencyNumCode",
  "currencyFractionPart",
  "counterValueCurrencyFractionPart",
]);
/** Fields of the receipt in minor units of the order's currency, with zeros in front. */
const amounts = new Set(["amount", "inclusiveAmount"]);

/**
 * Shows the terminal's ticket and the card's receipt, to print and to copy.
 * @param {{ order: any, texts: import("../texts.js").Texts }} props
 */
export function Tickets({ order, texts }) {
  const printed = [order.ticket, ...earlierOf(order)].filter((text) => text !== "");
  const tickets = [...new Set(printed)].map((text) => String(text).replaceAll("|", "\n"));
  const lines = Object.entries(order.receipt).flatMap(([name, value]) => {
    if (value === "" || technical.has(name)) return [];
    const isAmount = amounts.has(name) && /^\d+$/.test(value);
    const text = isAmount ? moneyOfMinor(Number(value), order.currency, texts) : value;
    return [[texts(`receipt.${name}`), text].join(texts("colon"))];
  });
  // Without a charge only the currency stands in the receipt.
  const receipt = lines.length > 1 ? lines.join("\n") : "";
  return html`<section aria-labelledby="tickets-title">
    <h2 id="tickets-title">${texts("ticket.title")}</h2>
    ${tickets.length === 0 && !receipt && html`<p>${texts("ticket.none")}</p>`}
    <div class="side-by-side">
      ${tickets.map(
        (text, index) => html`<${Ticket} name=${`ticket-${index}`} text=${text} texts=${texts}
          title=${texts(index === 0 ? "ticket.printed" : "ticket.earlier")} />`,
      )}
      ${
        receipt &&
        html`<${Ticket} name="receipt" title=${texts("ticket.receipt")} text=${receipt}
          texts=${texts} />`
      }
    </div></section>`;
}

/**
 * Returns the tickets of earlier steps, for example of a sale that has been reversed since.
 * @param {any} order
 * @returns {string[]}
 */
function earlierOf({ attempts }) {
  return attempts
    .flatMap((/** @type {any} */ attempt) => attempt.events)
    .flatMap((/** @type {any} */ { ticket }) => (ticket ? [String(ticket)] : []));
}

/**
 * @param {{ name: string, title: string, text: string, texts: import("../texts.js").Texts }} props
 */
function Ticket({ name, title, text, texts }) {
  const [state, setState] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState(texts("ticket.copied"));
    } catch {
      setState(texts("ticket.notCopied"));
    }
  };
  const print = () => {
    const paper = document.getElementById(`paper-${name}`);
    paper?.classList.add("printed");
    document.body.classList.add("printing");
    window.print();
    document.body.classList.remove("printing");
    paper?.classList.remove("printed");
  };
  return html`<div>
    <h3>${title}</h3>
    <pre class="paper" id=${`paper-${name}`} lang="">${text}</pre>
    <div class="row">
      <button type="button" onclick=${print}>${texts("ticket.print")}
        <span class="out"> ${title}</span></button>
      <button type="button" onclick=${copy}>${texts("ticket.copy")}
        <span class="out"> ${title}</span></button>
      <span role="status">${state}</span>
    </div></div>`;
}
