import { Button, conditionOf } from "./device.js";
import { around, t, translated } from "./language.js";
import { call } from "./link.js";
import { html, useEffect, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./link.js").State} State */
/** @typedef {import("./device.js").Act} Act */

/**
 * @typedef {object} Card
 * @property {string} name
 * @property {string} scheme
 * @property {"chip" | "contactless"} technology
 * @property {string} ending
 */

/** The ways to present a card; each is an action, and has two texts. */
const ways = ["approve", "decline", "wrong-pin", "ask-pin", "insert"];

/** The names that the texts of a protocol's faults begin with. */
const families = /** @type {Record<string, string>} */ ({ zvt: "zvt", nexo: "nexo" });

/**
 * Everything that hands may do in addition to the terminal's own keys.
 * @param {{state: State, book: FaultBook, act: Act}} props
 */
export function Bench({ state, book, act }) {
  return html`
    <section class="bench" aria-label=${t("bench")}>
      <${Customer} state=${state} act=${act} />
      <${Condition} state=${state} act=${act} />
      <${Faults} book=${book} family=${families[state.protocol] ?? "french"} act=${act} />
    </section>
  `;
}

/**
 * @param {{state: State, act: Act}} props
 */
function Customer({ state, act }) {
  const [cards, setCards] = useState(/** @type {readonly Card[]} */ ([]));
  useEffect(() => void call("/cards").then(setCards, () => undefined), []);
  const [held, setHeld] = useState("mastercard");
  const byHand = state.customer === "manual";
  const takesCard = state.powered && (state.wants === "card" || state.wants === "key-or-card");
  return html`
    <fieldset class="customer">
      <legend>${t("customer")}</legend>
      <p class="choice" role="group" aria-label=${t("customer.who")}>
        <button type="button" aria-pressed=${!byHand} onClick=${() => act("by-itself")}>
          ${t("customer.alone")}
        </button>
        <button type="button" aria-pressed=${byHand} onClick=${() => act("by-hand")}>
          ${t("customer.you")}
        </button>
      </p>
      <div class="cards" role="radiogroup" aria-label=${t("customer.card")}>
        ${cards.map(
          ({ name, scheme, technology, ending }) => html`
            <label key=${name} class=${`bankcard ${name}`}>
              <input type="radio" name="card" value=${name} checked=${held === name}
                onChange=${() => setHeld(name)} />
              <b>${scheme}</b>
              <span>${technology === "contactless" ? ")))" : t("card.chip")} ··${ending}</span>
            </label>
          `,
        )}
      </div>
      <p class="hint" aria-live="polite">
        ${hintFor(state)}
      </p>
      <div class="ways">
        ${ways.map(
          (action) => html`
            <${Button} key=${action} class=${action} off=${!takesCard}
              onClick=${() => act(action, { card: held })}>
              <${Way} action=${action} /><//>
          `,
        )}
        <${Button} off=${!takesCard} onClick=${() => act("other-card")}>
          <${Way} action="other-card" /><//>
        <${Button} off=${state.wants === null} onClick=${() => act("walk-away")}>
          <${Way} action="walk-away" /><//>
      </div>
    </fieldset>
  `;
}

/** @param {{action: string}} props */
function Way({ action }) {
  return html`${t(`way.${action}`)}<small>${t(`way.${action}.means`)}</small>`;
}

/**
 * @param {State} state
 */
function hintFor(state) {
  const { powered, wants, busy, customer } = state;
  const stands = conditionOf(state);
  if (powered && wants !== null) return t(hints[wants]);
  if (busy || ["off", "unplugged", "locked"].includes(stands)) {
    return t("hint.cannot", { state: t(`condition.${stands}`) });
  }
  return t(customer === "manual" ? "hint.manual" : "hint.alone");
}

const hints = {
  card: "hint.card",
  "key-or-card": "hint.card",
  key: "hint.keys",
  digits: "hint.pin",
};

/**
 * @param {{state: State, act: Act}} props
 */
function Condition({ state, act }) {
  const { outOfOrder, paperOut, busy, swapped, condition } = state;
  // Of the French protocols none names the terminal to the connector.
  const hasName = state.protocol in families;
  const marks = /** @type {const} */ ([
    ["lock", "lock.means", outOfOrder, outOfOrder ? "unlock" : "lock"],
    ["busy", "busy.means", busy, busy ? "free" : "busy"],
    ["paper", "paper.means", paperOut, paperOut ? "paper-in" : "paper-out"],
    ["swap", hasName ? "swap.means" : "swap.unnoticed", swapped, "swap"],
  ]);
  const stands = conditionOf(state);
  const [before, after] = around("condition");
  return html`
    <fieldset>
      <legend>
        ${before}<b class=${`condition ${stands}`}>${t(`condition.${stands}`)}</b>${after}
      </legend>
      <div class="switches">
        ${marks.map(
          ([title, means, on, action]) => html`
            <button key=${title} type="button" aria-pressed=${on} onClick=${() => act(action)}>
              ${t(title)}<small>${t(means)}</small>
            </button>
          `,
        )}
        ${
          "unregistered" in state &&
          html`<${Button} off=${condition !== "ready"} onClick=${() => act("unregister")}>
            ${t("unregister")}<small>${t("unregister.means")}</small><//>`
        }
        <button type="button" onClick=${() => act("reboot")}>
          ${t("reboot")}<small>${t("reboot.means")}</small>
        </button>
        <button type="button" onClick=${() => act("reset")}>
          ${t("reset")}<small>${t("reset.means")}</small>
        </button>
      </div>
    </fieldset>
  `;
}

/** @typedef {Readonly<Record<string, unknown>>} Arguments */
/**
 * @typedef {object} FaultBook
 * @property {Readonly<Record<string, {description: string, arguments: Arguments}>>} kinds
 * @property {Readonly<Record<string, string>>} points
 * @property {readonly {id: number, name: string, arguments: Arguments}[]} armed
 * @property {boolean} holds
 */

/** @type {FaultBook} */
const noBook = { kinds: {}, points: {}, armed: [], holds: false };
const READ_EVERY_MS = 1_000;

/** The faults that there are, and those that are armed, read all the time. */
export function useFaults() {
  const [book, setBook] = useState(noBook);
  useEffect(() => {
    const read = () => void call("/faults").then(setBook, () => undefined);
    read();
    const timer = setInterval(read, READ_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return book;
}

/**
 * @param {{book: FaultBook, family: string, act: Act}} props `family`: whose texts the faults have
 */
function Faults({ book, family, act }) {
  const [name, setName] = useState("unplug");
  const [at, setAt] = useState("");
  const kind = book.kinds[name];
  const hasMoment = kind !== undefined && "at" in kind.arguments;
  return html`
    <fieldset>
      <legend>${t("faults")}</legend>
      <p class="row">
        <label>${t("fault")}
          <select value=${name}
            onChange=${(/** @type {any} */ event) => setName(event.target.value)}>
            ${Object.keys(book.kinds).map(
              (one) => html`<option key=${one} value=${one}>${one}</option>`,
            )}
          </select>
        </label>
        ${
          hasMoment &&
          html`<label>${t("fault.at")}
            <select value=${at} onChange=${(/** @type {any} */ event) => setAt(event.target.value)}>
              <option value="">${t("fault.usual")}</option>
              ${Object.entries(book.points).map(
                ([point, means]) =>
                  html`<option key=${point} value=${point}>
                    ${point}: ${translated(`${family}.at.${point}`, means)}</option>`,
              )}
            </select>
          </label>`
        }
        <button type="button"
          onClick=${() => act("fault", { value: name, ...(hasMoment && at !== "" ? { at } : {}) })}>
          ${t("fault.arm")}
        </button>
      </p>
      <p class="hint">${kind && translated(`${family}.${name}`, kind.description)}</p>
    </fieldset>
  `;
}
