/*
 * What makes the page usable for more people: large text, high contrast, and everything read aloud.
 * Their buttons are always on the page, so none of them is needed to find another.
 */
import { spoken } from "./texts.js";

const CHOSEN = "aids";
/** @type {NodeListOf<HTMLButtonElement>} each has the name of the class that it gives the page */
const buttons = document.querySelectorAll("#aids button");
const root = document.documentElement;
const voice = globalThis.speechSynthesis;

/** At first as the browser is set up; reading aloud begins with its button only. */
const asSetUp = () => (matchMedia("(prefers-contrast: more)").matches ? "contrast" : "");
/** @param {string} name */
const isOn = (name) => root.classList.contains(name);

/** @param {string} names of the aids that are on; a reload keeps them */
function switchOn(names) {
  sessionStorage.setItem(CHOSEN, names);
  for (const button of buttons) {
    root.classList.toggle(button.name, names.split(" ").includes(button.name));
    button.setAttribute("aria-pressed", String(isOn(button.name)));
  }
  if (!isOn("aloud")) voice?.cancel();
}

/** @param {() => string} screenText what stands on the screen now */
export function offerAids(screenText) {
  switchOn(sessionStorage.getItem(CHOSEN) ?? asSetUp());
  for (const button of buttons) {
    button.hidden = button.name === "aloud" && !voice;
    button.addEventListener("click", () => {
      const on = [...buttons].filter((one) => isOn(one.name) !== (one === button));
      switchOn(on.map(({ name }) => name).join(" "));
      if (button.name === "aloud") readAloud(screenText());
    });
  }
  // A person who does not see the buttons hears which one the keyboard has reached.
  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof HTMLButtonElement) readAloud(target.innerText);
  });
}

/** The next customer finds the kiosk as it was set up. */
export const resetAids = () => switchOn(asSetUp());

/**
 * Reads a text aloud in the customer's language; what was being read is over.
 * @param {string} text
 */
export function readAloud(text) {
  if (!voice || !isOn("aloud")) return;
  voice.cancel();
  const utterance = new SpeechSynthesisUtterance(text);
  utterance.lang = spoken.language;
  voice.speak(utterance);
}
