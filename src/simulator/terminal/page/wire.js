import { t } from "./language.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./link.js").WireEvent} WireEvent */

/** The connector asks so often how the terminal is that nothing else could be seen. */
const enquiry = /^(0501|80-?00|060f status)/;

/**
 * The conversation of register and terminal, decoded.
 * @param {{events: readonly WireEvent[], clear: () => void}} props
 */
export function Wire({ events, clear }) {
  const [all, setAll] = useState(false);
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const atEnd = useRef(true);
  const top = useRef(0);
  const listed = withoutEnquiries(events, all);
  // Not every protocol has such a question.
  const enquires = events.some(({ message = "" }) => enquiry.test(message));
  useEffect(() => {
    if (list.current && atEnd.current) list.current.scrollTop = list.current.scrollHeight;
  }, [events]);
  const scrolled = (/** @type {any} */ { target }) => {
    // Lines that come in the meantime must not look like a person who scrolls up.
    const near = target.scrollHeight - target.scrollTop - target.clientHeight < 40;
    atEnd.current = near || (atEnd.current && target.scrollTop >= top.current);
    top.current = target.scrollTop;
  };
  return html`
    <section class="wire" aria-label=${t("wire")}>
      <div class="row">
        <h2>${t("wire")}</h2>
        ${
          enquires &&
          html`<label class="tick">
            <input type="checkbox" checked=${all} onChange=${() => setAll(!all)} />
            ${t("wire.enquiries")}
          </label>`
        }
        <button type="button" onClick=${clear}>${t("wire.clear")}</button>
      </div>
      <div class="lines" ref=${list} onScroll=${scrolled} tabindex="0" role="log"
        aria-label=${t("wire.list")} aria-live="off">
        ${listed.length === 0 && html`<p class="hint">${t("wire.nothing")}</p>`}
        ${listed.map((event) => html`<${Line} key=${event.seq} event=${event} />`)}
      </div>
    </section>
  `;
}

/**
 * @param {readonly WireEvent[]} events
 * @param {boolean} all
 */
function withoutEnquiries(events, all) {
  if (all) return events;
  let inEnquiry = false;
  return events.filter((event) => {
    const { message = "", direction } = event;
    if (direction === "in" && message.startsWith("0501")) inEnquiry = true;
    else if (direction === "in" && !enquiry.test(message)) inEnquiry = false;
    return !inEnquiry;
  });
}

/**
 * @param {{event: WireEvent}} props
 */
function Line({ event }) {
  const { what, direction, message, says, hex, text, fields = [], note, repeat, phase, at } = event;
  if (what === "phase") return html`<p class="phase"><span>${phase}</span></p>`;
  const title = [
    message ?? (lineEvents.has(what) ? t(`wire.${what}`) : what),
    repeat ? t("wire.repeat", { count: repeat }) : "",
    note ?? "",
  ];
  const kind = what === "fault" ? "fault" : (direction ?? "line");
  const bytes =
    hex === undefined ? (text ?? note ?? t("wire.noBytes")) : (hex.match(/../g) ?? []).join(" ");
  return html`
    <details class=${kind}>
      <summary>
        <time>${at.slice(11, 23)}</time>
        <span class="arrow">${t(`wire.${kind}`)}</span>
        <span lang=${message && "en"}>${title.filter((part) => part !== "").join(" ")}
          ${says && html`<small>${says}</small>`}</span>
      </summary>
      ${fields.length > 0 && html`<${Fields} fields=${fields} />`}
      <code>${bytes}</code>
    </details>
  `;
}

/**
 * @param {{fields: readonly import("./link.js").WireField[]}} props
 */
function Fields({ fields }) {
  return html`
    <dl lang="en">
      ${fields.map(
        ({ tag, name, value, means }, index) => html`
          <div key=${index}>
            <dt>${tag && html`<b>${tag}</b> `}${name}</dt>
            <dd><code class="value">${value}</code>
              ${means && html` <span class="means">${means}</span>`}</dd>
          </div>
        `,
      )}
    </dl>
  `;
}

/** The events of the line that have texts of their own. */
const lineEvents = new Set(["open", "close", "junk"]);
