/*
 * A whole kiosk: choose a ticket, pay, get it. Three rules keep the money right:
 *   1. The order is kept before it is paid, so a reload or a power cut finds it again.
 *   2. Goods only for Approved (two-phase) or Success; anything unclear is asked, not guessed.
 *   3. An order is only ever repeated under its own orderId.
 */
import { call, followEvents, openSession } from "./connector.js";
import { customerMessageName, customerMessages } from "./customer-messages.js";
import { forget, handOut } from "./dispenser.js";
import { money, say, speak, spoken, texts } from "./texts.js";

/** @typedef {import("./connector.js").Answer} Answer */
/** @typedef {{http: number, answer: Answer} | undefined} Reply undefined: no answer came */
/** @typedef {{orderId: string, name: keyof typeof texts, amount: number}} Order */

const ORDER = "order";
const ASK_EVERY_MS = 2_000;
const END_SCREEN_MS = 20_000;
const DISPENSE_WITHIN_S = 30;

/**
 * @param {string} id
 * @returns {any} an element of whatever kind
 */
const byId = (id) => document.getElementById(id);
/** @type {(method: string, path: string, body?: object) => Promise<Reply>} */
const ask = (method, path, body) => call(method, path, body).catch(() => undefined);
/** @type {(orderId: string) => string} */
const pathOf = (orderId) => `/payment/${encodeURIComponent(orderId)}`;

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

/* Screen */

/** Its texts are functions, because another language needs them again. */
const view = {
  screen: "",
  message: () => "",
  detail: () => "",
  mayCancel: false,
  /** @type {Order | null} that may be tried again under its own id */
  again: null,
};
let isReady = false;
let isLost = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let backTimer;

/** @param {Partial<typeof view>} change */
function show(change) {
  Object.assign(view, change);
  draw();
}

function draw() {
  const { screen, message, detail, mayCancel, again } = view;
  const order = keptOrder();
  if (order) write(byId("order"), `${say(order.name)}, ${money(order.amount)}`);
  for (const id of ["choose", "paying", "end"]) byId(id).hidden = id !== screen;
  write(byId(screen === "end" ? "said" : "prompt"), message());
  write(byId("detail"), detail());
  write(byId("again"), say(again ? "again" : "ok"));
  byId("cancel").disabled = !mayCancel;
  for (const button of byId("tickets").children) button.disabled = !isReady || isLost;
  // A notice about money is for the next customer, so it is never shown with an order's outcome.
  const away = screen === "choose" && !isReady && customerMessages.unavailable[spoken.language];
  write(byId("notice"), isLost ? say("lost") : away || "");
}

/**
 * Only what is new: a screen reader reads it out.
 * @param {HTMLElement} element
 * @param {string} text
 */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showChoice() {
  clearTimeout(backTimer);
  // An order that nobody wants to try again is over.
  if (view.again) orderOver(view.again.orderId);
  show({ screen: "choose", again: null });
}

function showPaying() {
  clearTimeout(backTimer);
  const message = () => say("moment");
  show({ screen: "paying", message, detail: () => "", mayCancel: true, again: null });
}

/**
 * @param {Answer} reply the outcome; the customer's language says it
 * @param {Order | null} again the order, where it may be tried again under the same id
 */
function showEnd(reply, again) {
  const name = customerMessageName(reply);
  const message = () => customerMessages[name][spoken.language];
  const detail = () => (name === "charged-ask" ? `${say("order")} ${reply.orderId}` : "");
  show({ screen: "end", message, detail, again });
  backTimer = setTimeout(showChoice, END_SCREEN_MS);
}

/**
 * The terminal's prompt in the customer's language, or the terminal's own text for unknown codes.
 * @param {string} text
 * @param {import("./connector.js").PromptTexts} [texts]
 */
function showPrompt(text, texts) {
  if (view.screen === "paying") show({ message: () => texts?.[spoken.language] ?? text });
}

/* Payment */

let isTwoPhase = true;

/**
 * @param {Order} order
 * @returns {Promise<void>}
 */
async function pay(order) {
  const { orderId, name, amount } = order;
  keep(order);
  showPaying();
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

/**
 * Goods first, money second: the connector charges when the ticket is out.
 * @param {Order} order
 */
async function dispense(order) {
  const { orderId } = order;
  show({ message: () => say("printing"), mayCancel: false });
  const delivered = await handOut(orderId).catch(() => false);
  await goOn(order, await ask("POST", "/delivery", { orderId, delivered }));
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
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}

/**
 * The order runs, or nothing is known yet: the customer must not go away believing either.
 * @param {Reply} reply
 * @param {string} orderId
 */
async function showWaiting(reply, orderId) {
  const health = reply && (await ask("GET", "/health"));
  const running = health?.answer.running;
  if (running?.orderId === orderId) {
    // The event with the prompt came before a reload.
    if (running.prompt) showPrompt(running.prompt, running.promptTexts);
    return;
  }
  const unknown = () => `${customerMessages.unknown[spoken.language]} (${orderId})`;
  show({ message: reply ? unknown : () => say("starting"), mayCancel: false });
}

/**
 * The session is over and only the start script can begin another.
 * @returns {Promise<never>}
 */
function lost() {
  isLost = true;
  draw();
  return new Promise(() => undefined);
}

/* The rest of the machine */

async function refresh() {
  const reply = await ask("GET", "/health");
  if (reply?.http === 401) return await lost();
  isReady = reply?.answer.status === "Ready";
  draw();
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
}

/** A second page of this kiosk waits until the first is away: both would hand out one order. */
async function alone() {
  isLost = true;
  setTimeout(draw, ASK_EVERY_MS);
  const forEver = new Promise(() => undefined);
  await new Promise((begin) => void navigator.locks.request("kiosk", () => begin(1) ?? forEver));
  isLost = false;
}

async function start() {
  listen();
  speak(spoken.language);
  if (!(await openSession())) return await lost();
  await alone();
  void followEvents((name, { orderId, text, texts }) => {
    if (name === "prompt" && orderId === keptOrder()?.orderId) showPrompt(text ?? "", texts);
  });
  setInterval(refresh, 5 * ASK_EVERY_MS);
  void refresh();
  const order = keptOrder();
  if (!order) return showChoice();
  // A reload or a power cut: what became of the order decides, not what the page believed.
  showPaying();
  await goOn(order);
}

void start();
