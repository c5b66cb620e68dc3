/*
 * What stands on the screen: one heading, one message, the time that is left, and the buttons that
 * are right now. The keyboard's focus is never lost when one of them goes.
 */
import { offerAids, readAloud } from "./aids.js";
import { drawListed } from "./attendant.js";
import { isOpen } from "./orders.js";
import { duration, money, say } from "./texts.js";

/** @typedef {import("./orders.js").Order} Order */

/**
 * @param {string} id
 * @returns {any} an element of whatever kind
 */
export const byId = (id) => document.getElementById(id);

/** Its texts are functions, because another language needs them again. */
export const view = {
  /** @type {"start" | "choose" | "paying" | "end"} */
  screen: "start",
  /** Whether the connector is there and takes payments. */
  isReady: false,
  /** Whether this page may do nothing until it is opened anew. */
  isLost: false,
  /** @type {Order | null} that is paid, or was */
  order: null,
  message: () => "",
  /** When the time of the payment or of the screen is over, on performance.now's clock. */
  endsMs: Number.POSITIVE_INFINITY,
  /** Whether the connector has warned that the payment's time is nearly over. */
  isEnding: false,
  mayCancel: false,
  /** Whether the customer may go, although the outcome of the order is not known. */
  mayLeave: false,
  /** @type {Order | null} that may be tried again under its own id */
  again: null,
};

/** Smaller than this is worse than scrolling. */
const TEXT_PERCENT_MIN = 60;

/** The screen that is drawn, and the text that was read aloud. */
let drawn = "";
let heard = "";
/** @type {Element | null} what had the focus last; null: the page is not in use yet */
let focused = null;
document.addEventListener("focusin", ({ target }) => {
  focused = target instanceof Element ? target : null;
});

/** @param {Partial<typeof view>} change */
export function show(change) {
  Object.assign(view, change);
  draw();
}

export function draw() {
  const { screen, isReady, isLost, order, mayCancel, mayLeave, again } = view;
  // Nothing is offered that cannot be sold; an outcome stays until the customer has read it.
  const isClosed = isLost ? screen !== "end" : screen === "choose" && !isReady;
  const now = isClosed ? "closed" : screen;
  const isNew = now !== drawn;
  drawn = now;
  const own = !isLost && (now === "closed" || now === "choose") ? now : "moment";
  write("heading", order ? `${say(order.name)}, ${money(order.amount)}` : say(own));
  write("message", messageOf());
  write("leave", say(again ? "finish" : "ok"));
  byId("tickets").hidden = now !== "choose";
  // Once the sale is approved, its goods are coming out.
  byId("cancel").hidden = now !== "paying" || mayLeave || !isOpen(order);
  byId("cancel").disabled = !mayCancel;
  byId("again").hidden = now !== "end" || !again;
  byId("leave").hidden = now !== "end" && !(now === "paying" && mayLeave);
  drawTime();
  drawListed();
  shrinkText();
  keepFocus(isNew);
  const text = byId("heading").textContent + byId("message").textContent;
  if (text !== heard) readAloud(screenText());
  heard = text;
}

function messageOf() {
  const { order, mayLeave } = view;
  // Nothing about money: the customer of an order that is not clear may read it too.
  if (drawn === "closed") return say(view.isLost ? "lost" : "elsewhere");
  const isAsked = drawn === "paying" && !mayLeave && order?.isCancelled && !order.mayBeOut;
  const more = isAsked ? say("asked") : view.isEnding ? say("hurry") : "";
  return [view.message(), more].join("\n").trim();
}

function drawTime() {
  const seconds = Math.ceil((view.endsMs - performance.now()) / 1_000);
  const isKnown = seconds > 0 && seconds < Number.POSITIVE_INFINITY && drawn !== "closed";
  const sentence = say(drawn === "end" || view.mayLeave ? "stays" : "left");
  write("time", isKnown ? sentence.replace("{time}", duration(seconds)) : "");
}

/** No sentence needs scrolling: one that is too long for the screen is written smaller. */
function shrinkText() {
  // With the list for the staff open, the page scrolls in any case.
  if (byId("listed").open) return;
  const root = document.documentElement;
  for (let percent = 100; percent >= TEXT_PERCENT_MIN; percent -= 5) {
    root.style.setProperty("--text", `${percent / 100}`);
    if (root.scrollHeight <= innerHeight) return;
  }
}

/**
 * A new screen begins at its heading: a key that is pressed twice buys and cancels nothing. A focus
 * that Tab has taken past the last button is not lost: the next one is the first of the page.
 * @param {boolean} isNew
 */
function keepFocus(isNew) {
  if (!focused) return;
  const isGone = focused.matches(":disabled") || !focused.checkVisibility();
  if (isNew || isGone) byId("heading").focus();
}

/**
 * Only what is new: a screen reader reads it out.
 * @param {string} id
 * @param {string} text
 */
function write(id, text) {
  if (byId(id).textContent !== text) byId(id).textContent = text;
}

const screenText = () =>
  ["heading", "message", "time"].map((id) => byId(id).textContent).join("\n");

offerAids(screenText);
setInterval(drawTime, 1_000);
addEventListener("resize", draw);
