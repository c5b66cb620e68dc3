/*
 * A whole kiosk: choose a ticket, pay, get it. Three rules keep the money right:
 *   1. The order is kept before it is paid, so a reload or a power cut finds it again.
 *   2. Goods only for Approved (two-phase) or Success; anything unclear is asked, not guessed.
 *   3. An order is only ever repeated under its own orderId.
 */
import { call, followEvents, openSession } from "./connector.js";
import { customerLanguages, customerMessageName, customerMessages } from "./customer-messages.js";
import { forget, handOut } from "./dispenser.js";
import { money, put, putAll, say, spoken, texts } from "./texts.js";

/** @typedef {import("./connector.js").Answer} Answer */
/** @typedef {keyof typeof texts} TextName */
/** @typedef {{name: TextName, amount: number}} Ticket */
/** @typedef {Ticket & {orderId: string}} Order */

/** @type {readonly Ticket[]} */
const tickets = [
  { name: "old-town", amount: 2.0 },
  { name: "airport", amount: 12.0 },
  { name: "day", amount: 7.0 },
];
const ORDER = "order";
const ASK_EVERY_MS = 2_000;
const END_SHOWN_MS = 20_000;
const DISPENSE_WITHIN_S = 30;

let isTwoPhase = true;
/** @type {{told: Answer, order?: Order | undefined} | undefined} */
let shownEnd;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let backTimer;
/**
 * @param {string} id
 * @returns {any} an element of whatever kind
 */
const byId = (id) => document.getElementById(id);

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

/** @param {"choose" | "paying" | "end"} screen */
function show(screen) {
  clearTimeout(backTimer);
  for (const id of ["choose", "paying", "end"]) byId(id).hidden = id !== screen;
  byId("notice").textContent = "";
}

/** @param {Order} order */
function putOrder({ name, amount }) {
  byId("order").textContent = `${say(name)}, ${money(amount)}`;
}

/** @param {Order} order */
function showPaying(order) {
  putOrder(order);
  putPrompt("");
  put(byId("prompt"), "moment");
  byId("cancel").disabled = false;
  show("paying");
}

/**
 * Words that are not the kiosk's own, as those of the terminal.
 * @param {string} text
 */
function putPrompt(text) {
  const { dataset } = byId("prompt");
  delete dataset.text;
  delete dataset.unknown;
  byId("prompt").textContent = text;
}

/**
 * The outcome in the customer's language; `order`: it may be tried again under the same id.
 * @param {Answer} told
 * @param {Order} [order]
 */
function showEnd(told, order) {
  shownEnd = { told, order };
  const name = customerMessageName(told);
  byId("said").textContent = customerMessages[name][spoken.language];
  byId("detail").textContent = name === "charged-ask" ? `${say("order")} ${told.orderId}` : "";
  put(byId("again"), order === undefined ? "ok" : "again");
  show("end");
  backTimer = setTimeout(() => leaveEnd(), END_SHOWN_MS);
}

/** Back to the choice; an order that nobody wants to try again is over. */
function leaveEnd() {
  if (shownEnd?.order) orderOver(shownEnd.order.orderId);
  shownEnd = undefined;
  show("choose");
}

/* Payment */

/** @param {Ticket} ticket */
function begin(ticket) {
  // Never a counter that starts again: an id that was used is answered, not paid.
  const order = {
    ...ticket,
    orderId: `T-${Date.now().toString(36)}-${crypto.randomUUID().slice(0, 8)}`,
  };
  keep(order);
  void pay(order);
}

/**
 * @param {Order} order
 * @returns {Promise<void>}
 */
async function pay(order) {
  showPaying(order);
  const { orderId, name, amount } = order;
  const price = { unit_price: amount, total_amount: amount, discount: 0, tax_rate: 20 };
  const basket = { type: "good", quantity: 1, name: texts[name]?.en ?? name, ...price };
  const delivery = isTwoPhase && { delivery: { withinSeconds: DISPENSE_WITHIN_S } };
  const body = { orderId, amount, basket, ...delivery };
  // Without an answer the order is asked about, whatever the reason is.
  const told = await call("POST", "/payment", body).catch(() => undefined);
  if (isTwoPhase && told?.answer.error?.code === "NOT_SUPPORTED") {
    // This terminal knows no goods, and said so before anything was charged.
    isTwoPhase = false;
    return await pay(order);
  }
  await goOn(order, heard(told) ?? (await truthOf(orderId)));
}

/**
 * A session that is over says nothing of the money: asking for the order tells.
 * @param {{http: number, answer: Answer} | undefined} told
 */
const heard = (told) => (told?.http === 401 ? undefined : told?.answer);

/**
 * What an outcome means for the goods.
 * @param {Order} order
 * @param {Answer | undefined} answer
 * @returns {Promise<void>}
 */
async function goOn(order, answer) {
  const { orderId } = order;
  if (answer === undefined) return neverAsked(order);
  if (answer.status === "Approved") return await dispense(order);
  if (answer.status === "Success") {
    // A one-phase sale, or a power cut behind the word of the dispenser.
    const isOut = await handOut(orderId).catch(() => false);
    orderOver(orderId);
    return showEnd(isOut ? answer : { ...answer, error: { charged: "yes" } });
  }
  if (answer.error?.charged === "unknown" || answer.status === "Unknown") {
    return await goOn(order, await truthOf(orderId));
  }
  if (answer.error?.retry === "safe") return showEnd(answer, order);
  orderOver(orderId);
  showEnd(answer);
}

/**
 * Goods first, money second: the connector charges when the ticket is out.
 * @param {Order} order
 */
async function dispense(order) {
  const { orderId } = order;
  byId("cancel").disabled = true;
  put(byId("prompt"), "printing");
  const delivered = await handOut(orderId).catch(() => false);
  const told = await call("POST", "/delivery", { orderId, delivered }).catch(() => undefined);
  const answer = heard(told);
  const isEnd = answer !== undefined && answer.status !== "Approved" && isClear(answer);
  await goOn(order, isEnd ? answer : await truthOf(orderId));
}

/** @param {Answer} answer */
const isClear = ({ status, error }) => status !== "Unknown" && error?.charged !== "unknown";

/**
 * Asks until it is known what became of the order; undefined: the connector never heard of it.
 * @param {string} orderId
 * @returns {Promise<Answer | undefined>}
 */
async function truthOf(orderId) {
  const path = `/payment/${encodeURIComponent(orderId)}`;
  for (let unheardOf = 0; ; ) {
    const told = await call("GET", path).catch(() => undefined);
    if (told?.http === 401) return await lost();
    const isUnheardOf = told?.answer.error?.code === "ORDER_NOT_FOUND";
    // Asked twice: the first time our own request may still have been on its way.
    if (isUnheardOf && ++unheardOf === 2) return undefined;
    if (told?.http === 200 && isClear(told.answer)) return told.answer;
    const running = told && (await call("GET", "/health").catch(() => undefined))?.answer.running;
    if (running?.orderId === orderId) {
      // Its event was told before a reload.
      if (running.prompt) putPrompt(running.prompt);
    } else if (!isUnheardOf) waiting(told, orderId);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}

/**
 * Nothing runs, and nothing is known yet: the customer must not go away believing either.
 * @param {object | undefined} told
 * @param {string} orderId
 */
function waiting(told, orderId) {
  byId("cancel").disabled = true;
  if (told) putUnknown(orderId);
  else put(byId("prompt"), "starting");
}

/** @param {string} orderId */
function putUnknown(orderId) {
  putPrompt(`${customerMessages.unknown[spoken.language]} (${orderId})`);
  byId("prompt").dataset.unknown = orderId;
}

/**
 * Nothing has reached the connector: nobody was charged, and the same order may be tried again.
 * @param {Order} order
 */
function neverAsked(order) {
  const error = { code: "TERMINAL_FAULT", charged: "no", retry: "safe" };
  showEnd({ status: "Failed", error }, order);
}

/**
 * The session is over and only the start script can begin another.
 * @returns {Promise<never>}
 */
function lost() {
  byId("notice").textContent = say("lost");
  return new Promise(() => undefined);
}

/* The rest of the machine */

async function refresh() {
  const told = await call("GET", "/health").catch(() => undefined);
  if (told?.http === 401) return await lost();
  const isReady = told?.answer.status === "Ready";
  for (const button of byId("tickets").children) button.disabled = !isReady;
  // Its words about money hold for the next customer alone, never beside an order's own.
  const isChoice = !byId("choose").hidden;
  byId("notice").textContent =
    isReady || !isChoice ? "" : customerMessages.unavailable[spoken.language];
}

/** @param {typeof spoken.language} chosen */
function speak(chosen) {
  spoken.language = chosen;
  document.documentElement.lang = chosen;
  for (const button of byId("languages").children) {
    button.setAttribute("aria-pressed", String(button.lang === chosen));
  }
  putAll();
  const order = keptOrder();
  if (order) putOrder(order);
  const { text, unknown } = byId("prompt").dataset;
  if (unknown && !text) putUnknown(unknown);
  if (shownEnd) showEnd(shownEnd.told, shownEnd.order);
  void refresh();
}

/**
 * @param {string} text
 * @param {() => void} onClick
 */
function button(text, onClick) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", onClick);
  return made;
}

function build() {
  for (const ticket of tickets) {
    const made = button("", () => begin(ticket));
    const name = document.createElement("span");
    put(name, ticket.name);
    const price = document.createElement("span");
    price.dataset["amount"] = String(ticket.amount);
    made.append(name, price);
    byId("tickets").append(made);
  }
  for (const one of customerLanguages) {
    const made = button(one.toUpperCase(), () => speak(one));
    made.lang = one;
    byId("languages").append(made);
  }
  byId("cancel").addEventListener("click", () => {
    byId("cancel").disabled = true;
    // Only a wish: the payment's own answer decides.
    void call("POST", "/cancel").catch(() => undefined);
  });
  byId("again").addEventListener("click", () => {
    const order = shownEnd?.order;
    shownEnd = undefined;
    if (order) void pay(order);
    else show("choose");
  });
}

async function start() {
  build();
  if (!(await openSession())) return await lost();
  void followEvents((name, data) => {
    const isOurs = name === "prompt" && data.orderId === keptOrder()?.orderId;
    if (isOurs) putPrompt(data.text ?? "");
  });
  setInterval(refresh, 5 * ASK_EVERY_MS);
  speak(spoken.language);
  const order = keptOrder();
  if (!order) return show("choose");
  // A reload or a power cut: what became of the order decides, not what the page believed.
  showPaying(order);
  await goOn(order, await truthOf(order.orderId));
}

void start();
