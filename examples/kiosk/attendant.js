/*
 * The list for the attendant: orders whose money and goods do not agree, or not for certain. The
 * page goes on asking about them, and hands nothing out for them.
 */
import { ask, chargedOf, isClear, pathOf } from "./connector.js";
import { agree, isOut, orders, over, save } from "./orders.js";
import { money, say, spoken } from "./texts.js";

/** @typedef {import("./orders.js").Order} Order */

const ANSWER_MS = 10_000;
/** Refusals of a connector that has not recorded the decision about the goods. */
const notRead = ["UPDATING", "STOPPING", "STORAGE_FAILED"];

/**
 * Reports once what is known about the goods of a two-phase sale; the decision is kept before.
 * Returns undefined when the connector may not have recorded it.
 * @param {Order} order
 * @param {boolean} delivered
 */
export async function report(order, delivered) {
  order.delivered = delivered;
  await save();
  const { orderId } = order;
  const reply = await ask("POST", "/delivery", { orderId, delivered });
  const isRefused = reply?.http === 401 || notRead.includes(reply?.answer.error?.code ?? "");
  if (!reply || isRefused) return undefined;
  order.isReported = true;
  await save();
  return reply;
}

/**
 * Whether the connector waits for a report about the goods, or lacks it.
 * @param {Order} order
 * @param {import("./connector.js").Answer} answer
 * @param {boolean | undefined} goods
 * @returns {goods is boolean}
 */
export function mustReport({ isTwoPhase, isReported }, { status, error }, goods) {
  if (!isTwoPhase || isReported || goods === undefined || status === "Success") return false;
  return goods || status === "Approved" || error?.code === "DELIVERY_UNCONFIRMED";
}

/** Asks what became of each listed order; one that has become right leaves the list. */
export async function askAboutListed() {
  for (const order of orders.listed.filter(({ isDone }) => !isDone)) await askAbout(order);
}

/** @param {Order} order */
async function askAbout(order) {
  let reply = await ask("GET", pathOf(order.orderId), undefined, ANSWER_MS);
  const goods = await isOut(order);
  if (reply && mustReport(order, reply.answer, goods)) {
    reply = (await report(order, goods)) ?? reply;
  }
  // No request for a listed order is on its way, so one that never was there was not charged.
  const isMissing = reply?.answer.error?.code === "ORDER_NOT_FOUND" && !order.isReceived;
  const isAbout = reply?.http === 200 || isMissing;
  if (!isAbout || !isClear(reply) || !orders.listed.includes(order)) return;
  order.charged = chargedOf(reply.answer);
  await (agree(order.charged, goods) ? over(order) : save());
}

let drawn = "";

/** Draws the list, in the language that is spoken now. */
export function drawListed() {
  const whole = /** @type {HTMLElement} */ (document.getElementById("listed"));
  const lines = orders.listed.map(lineOf);
  const now = [spoken.language, ...lines].join("\n");
  if (now === drawn) return;
  drawn = now;
  whole.hidden = lines.length === 0;
  const [summary, items] = whole.children;
  if (summary) summary.textContent = `${say("attendant")}: ${lines.length}`;
  items?.replaceChildren(...orders.listed.map(itemOf));
}

/**
 * What is known of the goods of an order.
 * @param {Order} order
 */
export function goodsText({ delivered, mayBeOut = false }) {
  if (delivered === undefined && mayBeOut) return say("goods-unknown");
  return say(delivered ? "goods-yes" : "goods-no");
}

/** @param {Order} order */
function lineOf(order) {
  const { orderId, name, amount, at, charged = "unknown" } = order;
  const styles = /** @type {const} */ ({ dateStyle: "medium", timeStyle: "short" });
  const when = new Date(at).toLocaleString(spoken.language, styles);
  const what = `${orderId} (${say(name)}, ${money(amount)}, ${when})`;
  return `${what}: ${say(`charged-${charged}`)}; ${goodsText(order)}.`;
}

/** @param {Order} order */
function itemOf(order) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = say("done");
  button.ariaLabel = `${say("done")} ${order.orderId}`;
  button.ariaPressed = String(order.isDone ?? false);
  // Pressed again it is not done: it leaves the list only when the page is opened anew.
  button.addEventListener("click", async () => {
    order.isDone = !order.isDone;
    // A reload must not take back what is shown, so it is on the disk first.
    await save();
    button.ariaPressed = String(order.isDone);
  });
  item.append(`${lineOf(order)} `, button);
  return item;
}
