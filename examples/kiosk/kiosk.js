/*
 * A whole kiosk: choose a ticket, pay, get it. Five rules keep the money right:
 *   1. The order is kept before it is paid, so a reload or a power cut finds it again.
 *   2. Goods only for Approved (two-phase) or Success, and only while the order's customer is here;
 *      anything unclear is asked, not guessed.
 *   3. That the goods may be out is kept before the machine begins. What is known of them is
 *      reported until it is answered, and what nobody knows is not.
 *   4. An order is only ever repeated under its own orderId.
 *   5. An order is over when its money and its goods agree; any other is the attendant's.
 */
import { askAboutListed, mustReport, report } from "./attendant.js";
import {
  ask,
  chargedOf,
  followEvents,
  isClear,
  isEarlier,
  openSession,
  pathOf,
} from "./connector.js";
import { handOut } from "./dispenser.js";
import { agree, isOpen, isOut, list, orders, over, readOrders, save } from "./orders.js";
import { byId, draw, show, view } from "./screen.js";
import {
  leave,
  orderText,
  showBusy,
  showChoice,
  showEnd,
  showPaying,
  showPrompt,
  showTime,
  showUnknown,
  stayLonger,
} from "./screens.js";
import { say, speak, spoken, texts } from "./texts.js";

/** @typedef {import("./connector.js").Answer} Answer */
/** @typedef {import("./connector.js").Reply} Reply */
/** @typedef {import("./orders.js").Order} Order */

const ASK_EVERY_MS = 2_000;
/** A connector that does not say within this time how it is counts as away. */
const HEALTH_MS = 5_000;
/** A connector that has been away so long: the customer need not wait for it. */
const AWAY_MS = 30_000;
/** Longer after its payment began, nobody is in front of a page that is opened. */
const GONE_MS = 300_000;
const LISTED_EVERY_MS = 60_000;
const DISPENSE_WITHIN_S = 30;
/** With less time left than this nothing is handed out: the sale would be taken back meanwhile. */
const DISPENSE_TAKES_S = 5;

/** @type {(ms?: number) => Promise<void>} */
const pause = (ms = ASK_EVERY_MS) => new Promise((resolve) => void setTimeout(resolve, ms));

/* Payment */

let isTwoPhase = true;
/** The newest cancel, until it is answered: it names no order, so it must meet no other one. */
let cancelling = Promise.resolve();

/** @param {Pick<Order, "orderId" | "name" | "amount" | "isRepeated">} chosen */
async function pay({ orderId, name, amount, isRepeated = false }) {
  // A new attempt: nothing is decided about its goods.
  /** @type {Order} */
  const order = { orderId, name, amount, isRepeated, at: Date.now(), isTwoPhase };
  order.isReceived = isRepeated;
  orders.current = order;
  showPaying(order);
  await cancelling;
  if (!(await save())) {
    // An order that a power cut would lose is not paid.
    orders.current = null;
    return showEnd(order, { status: "Failed", error: { charged: "no" } }, null);
  }
  const price = { unit_price: amount, total_amount: amount, discount: 0, tax_rate: 20 };
  const basket = { type: "good", quantity: 1, name: texts[name]?.en ?? name, ...price };
  const delivery = { withinSeconds: DISPENSE_WITHIN_S };
  const sale = { orderId, amount, basket };
  show({ mayCancel: true });
  let reply = await ask("POST", "/payment", isTwoPhase ? { ...sale, delivery } : sale);
  if (isTwoPhase && reply?.answer.error?.code === "NOT_SUPPORTED") {
    // This terminal has no two-phase sales and refused before anything was charged.
    isTwoPhase = false;
    order.isTwoPhase = false;
    await save();
    reply = await ask("POST", "/payment", sale);
  }
  await goOn(order, reply);
}

/**
 * The customer asks to cancel. Kept before it is sent: an approval that crosses it hands nothing
 * out, also after a reload.
 */
async function cancel() {
  const order = orders.current;
  if (!order || !view.mayCancel || !isOpen(order)) return;
  order.isCancelled = true;
  show({ mayCancel: false });
  await save();
  // Decided meanwhile: the payment that is cancelled now would be another one.
  if (!isOpen(order) || orders.current !== order) return;
  const reply = await ask("POST", "/cancel", undefined, HEALTH_MS);
  // The payment's own answer decides. A cancel that is refused may be sent once more.
  if (reply?.http !== 200 && view.order === order && view.screen === "paying" && isOpen(order)) {
    show({ mayCancel: !view.mayLeave });
  }
}

/**
 * The meaning of an outcome for the goods; without a clear one the order is asked about.
 * @param {Order} order
 * @param {Reply} [reply]
 * @returns {Promise<void>}
 */
async function goOn(order, reply) {
  await noteReceived(order, reply);
  const answer = isClear(reply) ? reply.answer : await truthOf(order);
  // The customer has left, so nothing is handed out.
  if (!answer) return;
  showBusy();
  if (answer.status === "Approved") return await dispense(order, answer);
  const charged = chargedOf(answer);
  const goods = answer.status === "Success" ? await issue(order) : await isOut(order);
  if (mustReport(order, answer, goods)) return await goOn(order, await reported(order, goods));
  const isOver = agree(charged, goods);
  const again = isOver && answer.error?.retry === "safe" ? order : null;
  if (!isOver) await list(order, charged);
  else if (!again) await over(order);
  showEnd(order, outcomeOf(order, answer, goods), again);
}

/**
 * An answer as it is for the customer, who knows of the goods and of a cancel of their own.
 * @param {Order} order
 * @param {Answer} answer
 * @param {boolean | undefined} goods whether they are out; undefined: nobody knows
 * @returns {Answer}
 */
function outcomeOf({ isCancelled }, answer, goods) {
  const charged = chargedOf(answer);
  if (charged === "yes") return { status: "Success", error: goods ? null : { charged } };
  if (goods !== false) return { ...answer, error: { charged, code: "DELIVERY_UNCONFIRMED" } };
  if (!isCancelled || answer.error?.code !== "GOODS_NOT_DELIVERED") return answer;
  return { ...answer, error: { charged, code: "PAYMENT_CANCELLED" } };
}

/**
 * Goods first, money second: the connector charges when the ticket is out.
 * @param {Order} order
 * @param {Answer} answer
 */
async function dispense(order, { secondsLeft }) {
  order.isApproved = true;
  const isInVain = order.isCancelled || (secondsLeft ?? DISPENSE_WITHIN_S) < DISPENSE_TAKES_S;
  // Decided once and kept: a connector that got the first decision takes no other one.
  const goods = await (isInVain ? isOut(order) : issue(order));
  if (goods !== undefined) return await goOn(order, await reported(order, goods));
  // Nobody knows whether the ticket came out, so nothing is reported.
  showBusy(() => say("call") + orderText(order));
  await pause();
  return await goOn(order);
}

/**
 * Hands the ticket of an order out, once; returns whether it is out, undefined: nobody knows.
 * @param {Order} order
 */
async function issue(order) {
  const known = await isOut(order);
  if (order.delivered !== undefined || known !== false) return known;
  order.mayBeOut = true;
  if (!(await save())) {
    // After a power cut nobody would know of these goods.
    order.mayBeOut = false;
    return false;
  }
  showBusy(() => say("printing"));
  const goods = await handOut(order.orderId).catch(() => undefined);
  if (goods !== undefined) order.delivered = goods;
  await save();
  return goods;
}

/**
 * Reports what is known about the goods until it is answered; returns a reply with the outcome.
 * @param {Order} order
 * @param {boolean} goods
 * @returns {Promise<Reply>}
 */
async function reported(order, goods) {
  for (;;) {
    const reply = await report(order, goods);
    if (reply?.http === 200) return reply;
    if (reply) return void (await pause());
    showBusy(() => say("away"));
    await pause();
    await refresh();
  }
}

/**
 * Asks until it is known what became of the order; undefined: its customer has left before.
 * @param {Order} order
 * @returns {Promise<Answer | undefined>}
 */
async function truthOf(order) {
  const { orderId } = order;
  let heardMs = performance.now();
  for (let absent = 0; orders.current === order; ) {
    const reply = await ask("GET", pathOf(orderId));
    if (reply?.http === 401) return await lost();
    if (orders.current !== order) return undefined;
    if (reply) heardMs = performance.now();
    await noteReceived(order, reply);
    const { code, charged } = reply?.answer.error ?? {};
    const isKnown = reply?.http === 200 && isClear(reply);
    // While the connector may have lost orders, or has lost this one, not found says nothing.
    const isMissing = code === "ORDER_NOT_FOUND" && !order.isReceived;
    const isOld = isKnown && order.isRepeated && isEarlier(reply.answer, order.at);
    const isAbsent = charged === "no" && (isMissing || isOld);
    if (isKnown && !isAbsent) return reply.answer;
    absent = isAbsent ? absent + 1 : 0;
    if (!isAbsent) await showWaiting(order, reply, heardMs);
    else if (absent === 2) {
      // Asked twice, because our own request may be on its way. It has not arrived: nobody was
      // charged, and the same order may be tried again.
      const error = { code: "TERMINAL_FAULT", charged, retry: "safe" };
      return { status: "Failed", orderId, error };
    }
    await pause();
  }
  return undefined;
}

/** An order that was answered so is in the connector's journal. */
const isInJournal = ["PAYMENT_RUNNING", "PAYMENT_UNKNOWN"];

/**
 * Keeps that the connector has the order: should it not find the order later, it has lost it.
 * @param {Order} order
 * @param {Reply} [reply]
 */
async function noteReceived(order, reply) {
  if (!isInJournal.includes(reply?.answer.error?.code ?? "")) return;
  if (order.isReceived && !order.isRepeated) return;
  order.isReceived = true;
  // The answers are about this attempt from now on.
  order.isRepeated = false;
  await save();
}

/**
 * The order runs, or nothing is known yet.
 * @param {Order} order
 * @param {Reply} reply
 * @param {number} heardMs when the connector last answered
 */
async function showWaiting(order, reply, heardMs) {
  const isAwayLong = performance.now() - heardMs > AWAY_MS;
  if (!reply && !isAwayLong) return showBusy(() => say("away"));
  const running = reply && (await refresh());
  if (orders.current !== order) return;
  // The event with the prompt came before a reload.
  if (running?.prompt) showPrompt(running.prompt, running.promptTexts);
  if (!running) showUnknown(order);
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
  const [running, order] = [reply?.answer.running, orders.current];
  const isOurs = order !== null && running?.orderId === order.orderId;
  if (isOurs && running.goodsBy) order.isApproved = true;
  show({ isReady: reply?.answer.status === "Ready" });
  if (!isOurs) return undefined;
  if (view.mayLeave) showBusy(() => say("moment"));
  if (view.screen === "paying" && isOpen(order) && !order.isCancelled) show({ mayCancel: true });
  showTime(running.secondsLeft);
  return running;
}

/** @type {import("./connector.js").OnEvent} */
function onEvent(name, { orderId, state, text, texts, secondsLeft }) {
  if (name === "terminal") void refresh();
  const { order } = view;
  if (!order || orderId !== order.orderId) return;
  if (name === "prompt") showPrompt(text ?? "", texts);
  if (view.screen === "paying" && state === "approved" && isOpen(order)) {
    // From now on the goods decide, and a cancel would take back what they are handed out for.
    order.isApproved = true;
    showBusy();
  }
  if (name === "payment" || name === "time-warning") showTime(secondsLeft);
  if (name === "time-warning") show({ isEnding: isOpen(order) });
}

const ID_LETTERS = 8;
/** Never a counter that starts again: an id that was used is answered, not paid. */
function newOrderId() {
  // Letters: a longer row of digits can look like a card number, which the connector refuses.
  const bytes = crypto.getRandomValues(new Uint8Array(ID_LETTERS));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(97 + (byte % 26))).join("");
  return `T-${Date.now().toString(36)}-${letters}`;
}

function listen() {
  for (const button of byId("tickets").children) {
    const { name, value } = button;
    button.addEventListener("click", () => {
      // A second press in the same moment begins no second order.
      if (orders.current || view.screen !== "choose") return;
      void pay({ orderId: newOrderId(), name, amount: Number(value) });
    });
  }
  for (const button of byId("languages").children) {
    button.addEventListener("click", () => {
      speak(button.lang);
      draw();
    });
  }
  byId("again").addEventListener("click", () => {
    if (view.again) void pay({ ...view.again, isRepeated: true });
  });
  byId("leave").addEventListener("click", () => {
    if (view.screen === "end" || view.mayLeave) leave();
  });
  byId("cancel").addEventListener("click", () => {
    cancelling = cancel();
  });
  byId("listed").addEventListener("toggle", () => {
    draw();
    // On a small screen it opens below the window.
    byId("listed").scrollIntoView();
  });
  for (const touch of ["pointerdown", "keydown"]) document.addEventListener(touch, stayLonger);
  // A page that the back button brings back as it was would not know what has happened since.
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
}

/** A second page of this kiosk waits until the first is away: both would hand out one order. */
async function alone() {
  view.isLost = true;
  setTimeout(draw, ASK_EVERY_MS);
  const forEver = new Promise(() => undefined);
  await new Promise((begin) => void navigator.locks.request("kiosk", () => begin(1) ?? forEver));
  await readOrders();
  view.isLost = false;
}

/**
 * After a reload or a power cut: what became of the order decides, not what the page believed.
 * @param {Order} order
 */
async function resume(order) {
  const isKnown = order.mayBeOut || order.delivered !== undefined;
  const goods = isKnown ? await isOut(order) : undefined;
  const isMissing = goods !== undefined && order.isTwoPhase && !order.isReported;
  await goOn(order, isMissing ? await reported(order, goods) : undefined);
}

async function start() {
  listen();
  speak(spoken.language);
  draw();
  if (!(await openSession())) return await lost();
  await alone();
  const order = orders.current;
  if (order) showPaying(order);
  void followEvents(onEvent, refresh);
  setInterval(refresh, 5 * ASK_EVERY_MS);
  const running = await refresh();
  if (order && (running || Math.abs(Date.now() - order.at) < GONE_MS)) void resume(order);
  else {
    if (order) void list(order, "unknown");
    showChoice();
  }
  for (;;) {
    await askAboutListed();
    draw();
    await pause(LISTED_EVERY_MS);
  }
}

void start();
