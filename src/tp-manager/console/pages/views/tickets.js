import { moneyOfMinor } from "../format.js";
import { html, useState } from "../vendor/htm-preact.js";

/** Fields of the receipt that say how others are written, and nothing to a person. */
const technical = new Set([
  "currencyNumCode",
  "currencyFractionPart",
  "counterValueCurrencyFractionPart",
]);
/** In minor units of the order's currency, with zeros in front. */
const amounts = new Set(["amount", "inclusiveAmount"]);

/**
 * The terminal's ticket and the card's receipt, to print and to copy.
 * @param {{ story: any, words: import("../words.js").Words, language: string }} props
 */
export function Tickets({ story, words, language }) {
  const printed = [story.ticket, ...earlierOf(story)].filter((text) => text !== "");
  const tickets = [...new Set(printed)].map((text) => String(text).replaceAll("|", "\n"));
  const lines = Object.entries(story.receipt).flatMap(([name, value]) => {
    if (value === "" || technical.has(name)) return [];
    const isAmount = amounts.has(name) && /^\d+$/.test(value);
    const told = isAmount ? moneyOfMinor(Number(value), story.currency, language) : value;
    return [[words(`receipt.${name}`), told].join(words("colon"))];
  });
  // Without a charge only the currency stands in the receipt.
  const receipt = lines.length > 1 ? lines.join("\n") : "";
  return html`<section aria-labelledby="tickets-title">
    <h2 id="tickets-title">${words("ticket.title")}</h2>
    ${tickets.length === 0 && !receipt && html`<p>${words("ticket.none")}</p>`}
    <div class="beside">
      ${tickets.map(
        (text, index) => html`<${Ticket} name=${`ticket-${index}`} text=${text} words=${words}
          title=${words(index === 0 ? "ticket.printed" : "ticket.earlier")} />`,
      )}
      ${
        receipt &&
        html`<${Ticket} name="receipt" title=${words("ticket.receipt")} text=${receipt}
          words=${words} />`
      }
    </div></section>`;
}

/**
 * Tickets of an earlier step, as that of a sale which was given back since.
 * @param {any} story
 * @returns {string[]}
 */
function earlierOf({ attempts }) {
  return attempts
    .flatMap((/** @type {any} */ attempt) => attempt.events)
    .flatMap((/** @type {any} */ { ticket }) => (ticket ? [String(ticket)] : []));
}

/**
 * @param {{ name: string, title: string, text: string, words: import("../words.js").Words }} props
 */
function Ticket({ name, title, text, words }) {
  const [told, setTold] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setTold(words("ticket.copied"));
    } catch {
      setTold(words("ticket.notCopied"));
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
      <button type="button" onclick=${print}>${words("ticket.print")}
        <span class="out"> ${title}</span></button>
      <button type="button" onclick=${copy}>${words("ticket.copy")}
        <span class="out"> ${title}</span></button>
      <span role="status">${told}</span>
    </div></div>`;
}
