/*
 * The screens that a customer meets: choosing, paying, not known, the end. Those that close by
 * themselves say so, and stay at each touch or key.
 */
import { resetAids } from "./aids.js";
import { goodsText } from "./attendant.js";
import { customerMessageName, customerMessages } from "./customer-messages.js";
import { isOpen, list, orders, over } from "./orders.js";
import { byId, show, view } from "./screen.js";
import { say, speak, spoken } from "./texts.js";

/** @typedef {import("./orders.js").Order} Order */

const END_SCREEN_MS = 30_000;
/** With a number to note. An order that is not clear is left to the attendant after this time. */
const STAFF_SCREEN_MS = 60_000;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let backTimer;
/** How long the screen stays that closes by itself. */
let staysMs = 0;
const noTime = { endsMs: Number.POSITIVE_INFINITY, isEnding: false };
/** Nobody can cancel or leave, and no time runs. */
const still = { ...noTime, mayCancel: false, mayLeave: false };
/** @param {Order} order whose number stands on a line of its own, and is not broken */
export const orderText = ({ orderId }) => `\n${say("order")} ${orderId.replaceAll("-", "\u2011")}`;

export function showChoice() {
  clearTimeout(backTimer);
  // An order that nobody wants to try again is over.
  if (view.again) void over(view.again);
  // The next customer finds every ticket in view.
  byId("listed").open = false;
  show({ screen: "choose", order: null, message: () => "", again: null, ...still });
}

/** @param {Order} order */
export function showPaying(order) {
  clearTimeout(backTimer);
  show({ screen: "paying", order, message: () => say("moment"), again: null, ...still });
}

/** @param {() => string} [message] of a payment that nobody can cancel or leave now */
export function showBusy(message = view.message) {
  clearTimeout(backTimer);
  show({ message, ...still });
}

/**
 * The customer must not go away believing that nothing was charged, but may go. Whether a ticket
 * that is out is valid meanwhile is for the staff to say.
 * @param {Order} order
 */
export function showUnknown(order) {
  if (view.mayLeave) return;
  const goods = () => {
    if (order.delivered) return `\n${say("keep")}`;
    return order.mayBeOut && order.delivered === undefined ? `\n(${goodsText(order)})` : "";
  };
  const message = () => customerMessages.unknown[spoken.language] + orderText(order) + goods();
  closeIn(STAFF_SCREEN_MS, { message, ...still, mayLeave: true });
}

/**
 * @param {Order} order
 * @param {import("./connector.js").Answer} answer the outcome; the customer's language says it
 * @param {Order | null} again the order, where it may be tried again under the same id
 */
export function showEnd(order, answer, again) {
  const name = customerMessageName(answer);
  const isForStaff = name === "charged-ask" || name === "unconfirmed";
  const more = () => {
    if (isForStaff) return `${orderText(order)}\n(${goodsText(order)})`;
    // Paid is said only when the goods are out.
    return name === "paid" ? `\n${say("take")}` : "";
  };
  const message = () => customerMessages[name][spoken.language] + more();
  const ms = isForStaff ? STAFF_SCREEN_MS : END_SCREEN_MS;
  closeIn(ms, { screen: "end", message, again, ...still });
}

/** A screen that closes by itself stays for the whole time again at each touch or key. */
export function stayLonger() {
  if (view.mayLeave || view.screen === "end") closeIn(staysMs);
}

/**
 * Shows a screen and its time at once, so that they are read aloud together.
 * @param {number} ms until it closes by itself
 * @param {Partial<typeof view>} [change]
 */
function closeIn(ms, change) {
  clearTimeout(backTimer);
  staysMs = ms;
  show({ ...change, endsMs: performance.now() + ms });
  backTimer = setTimeout(() => {
    // Nobody is here any more.
    resetAids();
    speak();
    leave();
  }, ms);
}

/** The customer goes: an order that is not clear is the attendant's from now on. */
export function leave() {
  if (view.mayLeave && orders.current) void list(orders.current, "unknown");
  showChoice();
}

/**
 * The terminal's prompt in the customer's language, or the terminal's own text for unknown codes.
 * @param {string} text
 * @param {import("./connector.js").PromptTexts} [texts]
 */
export function showPrompt(text, texts) {
  if (view.screen !== "paying") return;
  if (view.mayLeave) showBusy();
  show({ message: () => texts?.[spoken.language] ?? text });
}

/** @param {number | null} [secondsLeft] nothing: no time ends, or the connector is older */
export function showTime(secondsLeft) {
  // Later the time is that of the goods, which nobody has to hurry for.
  if (view.screen !== "paying" || !isOpen(view.order)) return;
  show({ endsMs: performance.now() + (secondsLeft ?? Number.POSITIVE_INFINITY) * 1_000 });
}
