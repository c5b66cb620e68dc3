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

/** The ways to present a card: word, what the button says, and what it means. */
const ways = /** @type {const} */ ([
  ["approve", "Approved", "the bank says yes"],
  ["decline", "Declined", "the bank says no"],
  ["wrong-pin", "Wrong PIN first", "once wrong, then right"],
  ["ask-pin", "PIN on the keypad", "every PIN is right but 0000"],
  ["insert", "As the amount says", "the cents are the bank's answer"],
]);

/**
 * Everything that hands may do in addition to the terminal's own keys.
 * @param {{state: State, act: Act}} props
 */
export function Bench({ state, act }) {
  return html`
    <section class="bench" aria-label="Customer and terminal">
      <${Customer} state=${state} act=${act} />
      <${Condition} state=${state} act=${act} />
      <${Faults} act=${act} />
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
      <legend>The customer</legend>
      <p class="choice" role="group" aria-label="Who plays the customer">
        <button type="button" aria-pressed=${!byHand} onClick=${() => act("by-itself")}>
          pays alone
        </button>
        <button type="button" aria-pressed=${byHand} onClick=${() => act("by-hand")}>
          is you
        </button>
      </p>
      <div class="cards" role="radiogroup" aria-label="Card in the hand">
        ${cards.map(
          ({ name, scheme, technology, ending }) => html`
            <label key=${name} class=${`bankcard ${name}`}>
              <input type="radio" name="card" value=${name} checked=${held === name}
                onChange=${() => setHeld(name)} />
              <b>${scheme}</b>
              <span>${technology === "contactless" ? ")))" : "chip"} ··${ending}</span>
            </label>
          `,
        )}
      </div>
      <p class="hint" aria-live="polite">
        ${hintFor(state)}
      </p>
      <div class="ways">
        ${ways.map(
          ([action, title, means]) => html`
            <button key=${action} type="button" class=${action} disabled=${!takesCard}
              onClick=${() => act(action, { card: held })}>
              ${title}<small>${means}</small>
            </button>
          `,
        )}
        <button type="button" disabled=${!takesCard} onClick=${() => act("other-card")}>
          A library card<small>not for payments</small>
        </button>
        <button type="button" disabled=${state.wants === null} onClick=${() => act("walk-away")}>
          Walks away<small>the terminal waits in vain</small>
        </button>
      </div>
    </fieldset>
  `;
}

/**
 * @param {State} state
 */
function hintFor({ powered, wants, customer }) {
  if (powered && (wants === "card" || wants === "key-or-card")) {
    return "The terminal waits for a card. Present it:";
  }
  if (powered && wants !== null) return "The terminal waits for its keys.";
  return customer === "manual"
    ? "Start a payment at the kiosk: the terminal will wait for your card."
    : "The customer presents a card alone. Choose “is you” to do it yourself.";
}

/**
 * @param {{state: State, act: Act}} props
 */
function Condition({ state, act }) {
  const { outOfOrder, paperOut, busy, swapped, condition } = state;
  // Of the French protocols none names the terminal to the connector, or registers anybody.
  const hasName = state.protocol === "zvt";
  const marks = /** @type {const} */ ([
    ["Locked", "out of order", outOfOrder, outOfOrder ? "unlock" : "lock"],
    ["In its menu", "serves no kiosk", busy, busy ? "free" : "busy"],
    ["Paper out", "refuses payments", paperOut, paperOut ? "paper-in" : "paper-out"],
    ["Another terminal", hasName ? "in its place" : "has no name: not noticed", swapped, "swap"],
  ]);
  const stands = conditionOf(state);
  return html`
    <fieldset>
      <legend>The terminal is <b class=${`condition ${stands}`}>${stands}</b></legend>
      <div class="switches">
        ${marks.map(
          ([title, means, on, action]) => html`
            <button key=${title} type="button" aria-pressed=${on} onClick=${() => act(action)}>
              ${title}<small>${means}</small>
            </button>
          `,
        )}
        ${
          hasName &&
          html`<button type="button" disabled=${condition !== "ready"}
            onClick=${() => act("unregister")}>
            Forget registration<small>as after a power cut</small>
          </button>`
        }
        <button type="button" onClick=${() => act("reboot")}>
          Restart<small>power off and on</small>
        </button>
        <button type="button" onClick=${() => act("reset")}>
          All as at the start<small>and no faults</small>
        </button>
      </div>
    </fieldset>
  `;
}

/**
 * @param {State} state
 */
function conditionOf({ powered, cableIn, outOfOrder, paperOut, busy, condition }) {
  if (!powered) return "off";
  if (!cableIn) return "unplugged";
  if (outOfOrder || paperOut) return "locked";
  return busy ? "busy" : condition;
}

/** @typedef {Readonly<Record<string, unknown>>} Arguments */
/**
 * @typedef {object} FaultBook
 * @property {Readonly<Record<string, {description: string, arguments: Arguments}>>} kinds
 * @property {Readonly<Record<string, string>>} points
 * @property {readonly {id: number, name: string, arguments: Arguments}[]} armed
 */

/** @type {FaultBook} */
const noBook = { kinds: {}, points: {}, armed: [] };
const READ_EVERY_MS = 1_000;

/**
 * @param {{act: Act}} props
 */
function Faults({ act }) {
  const [book, setBook] = useState(noBook);
  const [name, setName] = useState("unplug");
  const [at, setAt] = useState("");
  useEffect(() => {
    const read = () => void call("/faults").then(setBook, () => undefined);
    read();
    const timer = setInterval(read, READ_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const kind = book.kinds[name];
  const hasMoment = kind !== undefined && "at" in kind.arguments;
  return html`
    <fieldset>
      <legend>Something goes wrong</legend>
      <p class="row">
        <label>Fault
          <select value=${name}
            onChange=${(/** @type {any} */ event) => setName(event.target.value)}>
            ${Object.keys(book.kinds).map(
              (one) => html`<option key=${one} value=${one}>${one}</option>`,
            )}
          </select>
        </label>
        ${
          hasMoment &&
          html`<label>at
            <select value=${at} onChange=${(/** @type {any} */ event) => setAt(event.target.value)}>
              <option value="">its usual moment</option>
              ${Object.entries(book.points).map(
                ([point, means]) =>
                  html`<option key=${point} value=${point}>${point}: ${means}</option>`,
              )}
            </select>
          </label>`
        }
        <button type="button"
          onClick=${() => act("fault", { value: name, ...(hasMoment && at !== "" ? { at } : {}) })}>
          Arm
        </button>
      </p>
      <p class="hint">${kind?.description ?? ""}</p>
      ${
        book.armed.length > 0 &&
        html`<p class="row armed">Armed: ${book.armed
          .map(({ name: one, arguments: { at: point } }) => (point ? `${one} at ${point}` : one))
          .join(", ")}
          <button type="button" onClick=${() => act("no-faults")}>Take back</button></p>`
      }
    </fieldset>
  `;
}
