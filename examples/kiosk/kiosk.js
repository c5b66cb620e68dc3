/*
 * A whole kiosk: choose a ticket, pay, get it. Four rules keep the money right:
 *   1. The order is kept before it is paid, so a reload or a power cut finds it again.
 *   2. Goods only for Approved (two-phase) or Success; anything unclear is asked, not guessed.
 *   3. What was decided about the goods is kept, and sent until it is answered.
 *   4. An order is only ever repeated under its own orderId.
 */
import { resetAids } from "./aids.js";
import { call, followEvents, openSession } from "./connector.js";
import { customerMessageName, customerMessages } from "./customer-messages.js";
import { forget, handOut } from "./dispenser.js";
import { byId, draw, show, view } from "./screen.js";
import { say, speak, spoken, texts } from "./texts.js";

/** @typedef {import("./connector.js").Answer} Answer */
/** @typedef {{http: number, answer: Answer} | undefined} Reply undefined: no answer came */
/** @typedef {import("./screen.js").Order} Order */

const ORDER = "order";
const ASK_EVERY_MS = 2_000;
/** A connector that does not say within this time how it is counts as away. */
const HEALTH_MS = 5_000;
const END_SCREEN_MS = 30_000;
const DISPENSE_WITHIN_S = 30;

/** @type {(method: string, path: string, body?: object, withinMs?: number) => Promise<Reply>} */
const ask = (...given) => call(...given).catch(() => undefined);
/** @type {(orderId: string) => string} */
const pathOf = (orderId) => `/payment/${encodeURIComponent(orderId)}`;
const pause = () => new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));

/* The order that is under way: on this machine before anything else knows of it. */
/** @returns {Order | null} */
const keptOrder = () => JSON.parse(localStorage.getItem(ORDER) ?? "null");
/** @param {Order} order */
const keep = (order) => localStorage.setItem(ORDER, JSON.stringify(order));
/** @param {string} orderId */
function orderOver(orderId) {
  localStorage.removeItem(ORDER);
  forget(orderId);
}

/* Screens */

/** @type {ReturnType<typeof setTimeout> | undefined} */
let backTimer;
const noTime = { endsMs: Number.POSITIVE_INFINITY, isEnding: false };

function showChoice() {
  clearTimeout(backTimer);
  // An order that nobody wants to try again is over.
  if (view.again) orderOver(view.again.orderId);
  show({ screen: "choose", order: null, message: () => "", again: null, ...noTime });
}

/** @param {Order} order */
function showPaying(order) {
  clearTimeout(backTimer);
  const message = () => say("moment");
  show({ screen: "paying", order, message, mayCancel: true, again: null, ...noTime });
}

/** @param {() => string} message of a payment that nobody can cancel any more */
const showBusy = (message) => show({ message, mayCancel: false, ...noTime });

/**
 * @param {Answer} reply the outcome; the customer's language says it
 * @param {Order | null} again the order, where it may be tried again under the same id
 */
function showEnd(reply, again) {
  const name = customerMessageName(reply);
  const ofOrder = () => (name === "charged-ask" ? ` ${say("order")} ${reply.orderId}` : "");
  const message = () => customerMessages[name][spoken.language] + ofOrder();
  const endsMs = performance.now() + END_SCREEN_MS;
  show({ screen: "end", message, again, ...noTime, endsMs });
  stayLonger();
}

/** The end screen closes by itself, and each touch or key keeps it for the whole time again. */
function stayLonger() {
  if (view.screen !== "end") return;
  clearTimeout(backTimer);
  show({ endsMs: performance.now() + END_SCREEN_MS });
  backTimer = setTimeout(() => {
    // Nobody is here any more.
    resetAids();
    speak();
    showChoice();
  }, END_SCREEN_MS);
}

/**
 * The terminal's prompt in the customer's language, or the terminal's own text for unknown codes.
 * @param {string} text
 * @param {import("./connector.js").PromptTexts} [texts]
 */
function showPrompt(text, texts) {
  if (view.screen === "paying") show({ message: () => texts?.[spoken.language] ?? text });
}

/** @param {number | null} [secondsLeft] nothing: no time ends, or the connector is older */
function showTime(secondsLeft) {
  // Later the time is that of the goods, which nobody has to hurry for.
  if (view.screen !== "paying" || !view.mayCancel) return;
  show({ endsMs: performance.now() + (secondsLeft ?? Number.POSITIVE_INFINITY) * 1_000 });
}

/* Payment */

let isTwoPhase = true;

/**
 * @param {Order} order
 * @returns {Promise<void>}
 */
async function pay({ orderId, name, amount }) {
  // A new attempt: nothing is decided about its goods.
  const order = { orderId, name, amount };
  keep(order);
  showPaying(order);
  const price = { unit_price: amount, total_amount: amount, discount: 0, tax_rate: 20 };
  const basket = { type: "good", quantity: 1, name: texts[name]?.en ?? name, ...price };
  const delivery = isTwoPhase && { delivery: { withinSeconds: DISPENSE_WITHIN_S } };
  const reply = await ask("POST", "/payment", { orderId, amount, basket, ...delivery });
  if (isTwoPhase && reply?.answer.error?.code === "NOT_SUPPORTED") {
    // This terminal has no two-phase sales and refused before anything was charged.
    isTwoPhase = false;
    return await pay(order);
  }
  await goOn(order, reply);
}

/**
 * A session that is over (401) says nothing about the money, so the order is asked about.
 * @param {Reply} reply
 */
const isClear = (reply) =>
  reply !== undefined &&
  reply.http !== 401 &&
  reply.answer.status !== "Unknown" &&
  reply.answer.error?.charged !== "unknown";

/**
 * The meaning of an outcome for the goods; without a clear one the order is asked about.
 * @param {Order} order
 * @param {Reply} [reply]
 * @returns {Promise<void>}
 */
async function goOn(order, reply) {
  const { orderId } = order;
  let answer = reply && isClear(reply) ? reply.answer : await truthOf(orderId);
  if (answer.status === "Approved") return await dispense(order);
  // A one-phase sale, or a power cut after the goods were reported.
  if (answer.status === "Success" && !(await handOut(orderId).catch(() => false))) {
    answer = { ...answer, error: { charged: "yes" } };
  }
  const again = answer.error?.retry === "safe" ? order : null;
  if (!again) orderOver(orderId);
  showEnd(answer, again);
}

/** Refusals of a connector that has not recorded the decision about the goods. */
const notRead = ["UPDATING", "STORAGE_FAILED"];

/**
 * Goods first, money second: the connector charges when the ticket is out.
 * @param {Order} order
 */
async function dispense(order) {
  const { orderId } = order;
  showBusy(() => say("printing"));
  // Decided once and kept: a connector that got the first decision takes no other one.
  const delivered = keptOrder()?.delivered ?? (await handOut(orderId).catch(() => undefined));
  if (delivered === undefined) {
    // The dispenser failed, so nobody knows whether the ticket came out: nothing is decided.
    await pause();
    return await goOn(order);
  }
  keep({ ...order, delivered });
  const send = () => ask("POST", "/delivery", { orderId, delivered });
  let reply = await send();
  while (!reply || notRead.includes(reply.answer.error?.code ?? "")) {
    showBusy(() => say("starting"));
    await pause();
    reply = await send();
  }
  await goOn(order, reply);
}

/**
 * Asks until it is known what became of the order.
 * @param {string} orderId
 * @returns {Promise<Answer>}
 */
async function truthOf(orderId) {
  for (let unheardOf = 0; ; ) {
    const reply = await ask("GET", pathOf(orderId));
    if (reply?.http === 401) return await lost();
    if (reply?.http === 200 && isClear(reply)) return reply.answer;
    const { code, charged } = reply?.answer.error ?? {};
    // While the connector may have lost orders (charged: unknown), not found says nothing.
    if (code !== "ORDER_NOT_FOUND" || charged !== "no") await showWaiting(reply, orderId);
    // Asked twice: the first time our own request may still have been on its way.
    else if (++unheardOf === 2) {
      // Nobody was charged, and the same order may be tried again.
      const error = { code: "TERMINAL_FAULT", charged: "no", retry: "safe" };
      return { status: "Failed", orderId, error };
    }
    await pause();
  }
}

/**
 * The order runs, or nothing is known yet: the customer must not go away believing either.
 * @param {Reply} reply
 * @param {string} orderId
 */
async function showWaiting(reply, orderId) {
  if (!reply) return showBusy(() => say("starting"));
  const running = await refresh();
  // The event with the prompt came before a reload.
  if (running?.prompt) showPrompt(running.prompt, running.promptTexts);
  if (!running) showBusy(() => `${customerMessages.unknown[spoken.language]} (${orderId})`);
}

/**
 * The session is over and only the start script can begin another.
 * @returns {Promise<never>}
 */
function lost() {
  show({ isLost: true });
  return new Promise(() => undefined);
}

/* The rest of the machine */

/** Asks whether a payment can be taken now; returns the running one, if it is of this page. */
async function refresh() {
  const reply = await ask("GET", "/health?http=200", undefined, HEALTH_MS);
  if (reply?.http === 401) return await lost();
  show({ isReady: reply?.answer.status === "Ready" });
  const running = reply?.answer.running;
  if (!running || running.orderId !== keptOrder()?.orderId) return undefined;
  showTime(running.secondsLeft);
  return running;
}

/** @type {import("./connector.js").OnEvent} */
function onEvent(name, { orderId, text, texts, secondsLeft }) {
  if (name === "terminal") void refresh();
  if (orderId === undefined || orderId !== view.order?.orderId) return;
  if (name === "prompt") showPrompt(text ?? "", texts);
  if (name === "payment" || name === "time-warning") showTime(secondsLeft);
  if (name === "time-warning") show({ isEnding: view.mayCancel });
}

function listen() {
  for (const button of byId("tickets").children) {
    const { name, value } = button;
    button.addEventListener("click", () => {
      // Never a counter that starts again: an id that was used is answered, not paid.
      const orderId = `T-${Date.now().toString(36)}-${crypto.randomUUID().slice(0, 8)}`;
      // A second press in the same moment begins no second order.
      if (!keptOrder()) void pay({ orderId, name, amount: Number(value) });
    });
  }
  for (const button of byId("languages").children) {
    button.addEventListener("click", () => {
      speak(button.lang);
      draw();
    });
  }
  byId("again").addEventListener("click", () => {
    if (view.again) void pay(view.again);
    else if (view.screen === "end") showChoice();
  });
  byId("cancel").addEventListener("click", () => {
    show({ mayCancel: false });
    // The cancel is only a request: the payment's own answer decides.
    void ask("POST", "/cancel");
  });
  for (const touch of ["pointerdown", "keydown"]) document.addEventListener(touch, stayLonger);
}

/** A second page of this kiosk waits until the first is away: both would hand out one order. */
async function alone() {
  view.isLost = true;
  setTimeout(draw, ASK_EVERY_MS);
  const forEver = new Promise(() => undefined);
  await new Promise((begin) => void navigator.locks.request("kiosk", () => begin(1) ?? forEver));
  view.isLost = false;
}

async function start() {
  listen();
  speak(spoken.language);
  draw();
  if (!(await openSession())) return await lost();
  await alone();
  const order = keptOrder();
  // A reload or a power cut: what became of the order decides, not what the page believed.
  if (order) showPaying(order);
  void followEvents(onEvent, refresh);
  setInterval(refresh, 5 * ASK_EVERY_MS);
  if (order) return await (order.delivered === undefined ? goOn(order) : dispense(order));
  await refresh();
  showChoice();
}

void start();
