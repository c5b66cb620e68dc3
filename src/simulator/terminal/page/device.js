import { language, t } from "./language.js";
import { html, useLayoutEffect, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./link.js").State} State */
/** @typedef {(word: string, asked?: Readonly<Record<string, string>>) => void} Act */

const digits = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "", "0", ""];
const DIGITS_MAX = 12;

/**
 * A button that is switched off as soon as it has lost the focus: one that is switched off at once
 * loses it, and who works with the keyboard no longer knows where the page is.
 * @param {{off: unknown, onClick: () => void, children?: unknown, [name: string]: unknown}} props
 */
export function Button({ off, onClick, children, ...attributes }) {
  const [held, setHeld] = useState(false);
  return html`<button type="button" ...${attributes} disabled=${Boolean(off) && !held}
    aria-disabled=${off ? "true" : undefined} onClick=${off ? undefined : onClick}
    onFocus=${() => setHeld(true)} onBlur=${() => setHeld(false)}>${children}</button>`;
}

/**
 * The terminal itself: display, keypad, card slot.
 * @param {{state: State, act: Act}} props
 */
export function Device({ state, act }) {
  const [typed, setTyped] = useState("");
  const { wants, screen, powered } = state;
  useLayoutEffect(() => setTyped(""), [wants, screen.stage]);
  const takesDigits = wants === "digits" && powered;
  const takesKey = wants !== null && powered;
  const green = () => {
    if (takesDigits && typed !== "") act("pin", { value: typed });
    else act("green");
    setTyped("");
  };
  const red = () => (wants === "card" || wants === "digits" ? act("red") : act("key", stop));
  return html`
    <section class="device" aria-label=${t("device")}>
      <div class="body">
        <p class="brand" aria-hidden="true">${t("simulated")}<b>TERMINAL</b></p>
        <${Display} state=${state} typed=${typed} />
        <div class="keys" role="group" aria-label=${t("keypad")}>
          ${digits.map((digit, index) =>
            digit === ""
              ? html`<span key=${index}></span>`
              : html`<${Button} key=${index} off=${!takesDigits}
                  onClick=${() => setTyped((typed + digit).slice(0, DIGITS_MAX))}>
                  ${digit}<//>`,
          )}
          <${Button} class="red" aria-label=${t("key.red")} off=${!takesKey} onClick=${red}>
            <span aria-hidden="true">✕</span><//>
          <${Button} class="yellow" aria-label=${t("key.yellow")} off=${!takesDigits}
            onClick=${() => setTyped("")}>
            <span aria-hidden="true">‹</span><//>
          <${Button} class="green" aria-label=${t("key.green")}
            off=${!takesKey || wants === "card"} onClick=${green}>
            <span aria-hidden="true">●</span><//>
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
  if (!powered) {
    return html`<div class="display off">
      <span class="spoken">${t("display.noPower")}</span>
    </div>`;
  }
  const own = resting.has(screen.stage) ? ownText({ outOfOrder, paperOut, busy }) : undefined;
  const texts = own === undefined && screen.stage === "idle" ? displayed : [];
  // Without --language the display has the language of the page.
  const text = (screen.language === null && screen.texts[language()]) || screen.text;
  return html`
    <div class=${`display ${own === undefined ? screen.stage : "trouble"}`} aria-live="polite">
      <p class="status" aria-hidden="true">
        <span>${state.cableIn ? "▮▮▮" : t("display.noLine")}</span>
        <span>${state.protocol}</span>
      </p>
      <p class="amount">${own === undefined ? (screen.amount ?? "") : ""}</p>
      <p class="words" lang=${own === undefined ? screen.language : null}>
        ${own ?? (texts.length > 0 ? texts.join(" ") : text)}
      </p>
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
  if (outOfOrder) return t("display.outOfOrder");
  if (paperOut) return t("display.paperOut");
  return busy ? t("display.busy") : undefined;
}

/**
 * Cable and mains are the two things that hands can pull.
 * @param {{state: State, act: Act}} props
 */
function Plugs({ state, act }) {
  const { cableIn, powered } = state;
  return html`
    <div class="plugs" role="group" aria-label=${t("cables")}>
      <button type="button" aria-pressed=${cableIn}
        onClick=${() => act(cableIn ? "unplug" : "plug")}>
        ${t(cableIn ? "cable.in" : "cable.out")}
      </button>
      <button type="button" aria-pressed=${powered}
        onClick=${() => act(powered ? "power-off" : "power-on")}>
        ${t(powered ? "power.on" : "power.off")}
      </button>
    </div>
  `;
}
