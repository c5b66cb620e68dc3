import { html, useEffect, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./link.js").State} State */
/** @typedef {(word: string, asked?: Readonly<Record<string, string>>) => void} Act */

const digits = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "", "0", ""];
const DIGITS_MAX = 12;

/**
 * The terminal itself: display, keypad, card slot.
 * @param {{state: State, act: Act}} props
 */
export function Device({ state, act }) {
  const [typed, setTyped] = useState("");
  const { wants, screen, powered } = state;
  useEffect(() => setTyped(""), [wants, screen.stage]);
  const takesDigits = wants === "digits" && powered;
  const takesKey = wants !== null && powered;
  const green = () => {
    if (takesDigits && typed !== "") act("pin", { value: typed });
    else act("green");
    setTyped("");
  };
  const red = () => (wants === "card" || wants === "digits" ? act("red") : act("key", stop));
  return html`
    <section class="device" aria-label="Terminal">
      <div class="body">
        <p class="brand" aria-hidden="true">simulated<b>TERMINAL</b></p>
        <${Display} state=${state} typed=${typed} />
        <div class="keys" role="group" aria-label="Keypad">
          ${digits.map((digit, index) =>
            digit === ""
              ? html`<span key=${index}></span>`
              : html`<button key=${index} type="button" disabled=${!takesDigits}
                  onClick=${() => setTyped((typed + digit).slice(0, DIGITS_MAX))}>
                  ${digit}</button>`,
          )}
          <button type="button" class="red" disabled=${!takesKey} onClick=${red}>
            <span aria-hidden="true">✕</span><span class="spoken">Stop, red key</span>
          </button>
          <button type="button" class="yellow" disabled=${!takesDigits}
            onClick=${() => setTyped("")}>
            <span aria-hidden="true">‹</span><span class="spoken">Correct, yellow key</span>
          </button>
          <button type="button" class="green" disabled=${!takesKey || wants === "card"}
            onClick=${green}>
            <span aria-hidden="true">●</span><span class="spoken">OK, green key</span>
          </button>
        </div>
        <div class=${wants === "card" && powered ? "slot open" : "slot"} aria-hidden="true"></div>
      </div>
      <${Plugs} state=${state} act=${act} />
    </section>
  `;
}

const stop = { value: "stop" };

/**
 * @param {{state: State, typed: string}} props
 */
function Display({ state, typed }) {
  const { screen, powered, outOfOrder, paperOut, busy, displayed = [], wants } = state;
  if (!powered) return html`<div class="display off"><span class="spoken">No power</span></div>`;
  const own = resting.has(screen.stage) ? ownText({ outOfOrder, paperOut, busy }) : undefined;
  const texts = own === undefined && screen.stage === "idle" ? displayed : [];
  return html`
    <div class=${`display ${own === undefined ? screen.stage : "trouble"}`} aria-live="polite">
      <p class="status" aria-hidden="true">
        <span>${state.cableIn ? "▮▮▮" : "no line"}</span><span>${state.protocol}</span>
      </p>
      <p class="amount">${own === undefined ? (screen.amount ?? "") : ""}</p>
      <p class="words">${own ?? (texts.length > 0 ? texts.join(" ") : screen.text)}</p>
      <p class=${typed.length > 6 ? "typed long" : "typed"}>
        ${
          wants === "digits"
            ? "●".repeat(typed.length).padEnd(4, "○")
            : own === undefined && mark[screen.stage]
        }
      </p>
    </div>
  `;
}

/** Nothing runs: the outcome of the last payment gives way to a condition of the terminal. */
const resting = new Set(["idle", "approved", "declined", "cancelled", "timed-out"]);

/** @type {Readonly<Record<string, string>>} */
const mark = { card: ")))", approved: "✓", declined: "✕", cancelled: "✕", "timed-out": "✕" };

/**
 * @param {{outOfOrder: boolean, paperOut: boolean, busy: boolean}} state
 */
function ownText({ outOfOrder, paperOut, busy }) {
  if (outOfOrder) return "Out of order";
  if (paperOut) return "Paper is out";
  return busy ? "Service menu" : undefined;
}

/**
 * Cable and mains are the two things that hands can pull.
 * @param {{state: State, act: Act}} props
 */
function Plugs({ state, act }) {
  const { cableIn, powered } = state;
  return html`
    <div class="plugs" role="group" aria-label="Cables">
      <button type="button" aria-pressed=${cableIn}
        onClick=${() => act(cableIn ? "unplug" : "plug")}>
        Cable ${cableIn ? "in" : "out"}
      </button>
      <button type="button" aria-pressed=${powered}
        onClick=${() => act(powered ? "power-off" : "power-on")}>
        Power ${powered ? "on" : "off"}
      </button>
    </div>
  `;
}
