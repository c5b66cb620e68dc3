import { language, t } from "./language.js";
import { html, useLayoutEffect, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./link.js").State} State */
/** @typedef {import("./bench.js").FaultBook} FaultBook */
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
 * The terminal itself: display, keypad, card slot; and the faults that it will have.
 * @param {{state: State, armed: FaultBook["armed"], holds: boolean, act: Act}} props
 *   `holds`: a fault that has struck, and is armed no more, holds the terminal until it is disarmed
 */
export function Device({ state, armed, holds, act }) {
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
      <div class="armed">
        <p aria-live="polite">
          ${armed.length > 0 && `${t("fault.armed")} ${armed.map(nameOf).join(", ")}`}
        </p>
        <${Button} off=${armed.length === 0 && !holds} onClick=${() => act("no-faults")}>
          ${t("fault.takeBack")}<//>
      </div>
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
        <span>${t(`condition.${conditionOf(state)}`)}</span>
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
 * The condition of the terminal, as the texts name it.
 * @param {State} state
 */
export function conditionOf({ powered, cableIn, outOfOrder, paperOut, busy, condition }) {
  if (!powered) return "off";
  if (!cableIn) return "unplugged";
  if (outOfOrder || paperOut) return "locked";
  return busy ? "busy" : condition;
}

/**
 * Cable and mains are the two things that hands can pull.
 * @param {{state: State, act: Act}} props
 */
function Plugs({ state: { cableIn, powered }, act }) {
  const cable = cableIn ? "unplug" : "plug";
  const power = powered ? "power-off" : "power-on";
  return html`
    <div class="plugs" role="group" aria-label=${t("cables")}>
      <button type="button" class=${cable} onClick=${() => act(cable)}>${t(cable)}</button>
      <button type="button" class=${power} onClick=${() => act(power)}>${t(power)}</button>
    </div>
  `;
}

/**
 * @param {FaultBook["armed"][number]} fault
 */
function nameOf({ name, arguments: { at: point } }) {
  return point ? t("fault.armedAt", { fault: name, point: String(point) }) : name;
}
