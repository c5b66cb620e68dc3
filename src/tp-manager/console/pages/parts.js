import { timeOf } from "./format.js";
import { html } from "./vendor/htm-preact.js";

/**
 * Says how old the state is that the page shows, and what starts a connector that does not answer.
 * @param {{ texts: import("./texts.js").Texts, at?: string }} props
 *   `at`: the time of the state, by the connector's clock
 */
export function Silence({ texts, at = "" }) {
  return html`<p>${at && html`${texts("silent.before", { time: timeOf(at, texts) })}<br />`}
    ${texts("silent.start")} <code>./launch.sh start</code>. ${texts("updates.windows")}
    <br />${texts("silent.back")}</p>`;
}

/**
 * A view that has no answer yet.
 * @param {{ texts: import("./texts.js").Texts, silent: boolean }} props
 */
export function Unread({ texts, silent }) {
  return html`<h1>${texts(silent ? "noAnswer" : "loading")}</h1>
    <div role="alert">${silent && html`<${Silence} texts=${texts} />`}</div>`;
}

/**
 * What the connector has answered. While the connector is silent, it is greyed, and a screen reader
 * calls it old.
 * @param {{ texts: import("./texts.js").Texts, silent: boolean, at: string, children?: unknown }}
 *   props `at`: the time of the answer
 */
export function Answered({ texts, silent, at, children }) {
  const name = silent ? texts("silent.before", { time: timeOf(at, texts) }) : undefined;
  return html`<div class=${silent ? "old" : ""} role=${silent ? "group" : undefined}
    aria-label=${name}>${children}</div>`;
}

/**
 * Facts with the keys of their names. A value of `true` in the third column is written in red.
 * @param {{ texts: import("./texts.js").Texts, kind?: string, tight?: boolean,
 *   rows: ReadonlyArray<readonly [string, unknown, boolean?]> }} props
 *   `kind`: the class of every value.
 */
export function Facts({ texts, rows, kind = "", tight = false }) {
  return html`<dl class=${tight ? "tight" : ""}>${rows.map(
    ([key, value, bad]) => html`<div key=${key}>
      <dt>${texts(key)}</dt><dd class=${bad ? `${kind} bad-text` : kind}>${value}</dd></div>`,
  )}</dl>`;
}

/**
 * A link to the timeline of an order.
 * @param {{ orderId: string, text?: string }} props
 */
export function OrderLink({ orderId, text = orderId }) {
  return html`<a href=${`#payments/${encodeURIComponent(orderId)}`}>${text}</a>`;
}
