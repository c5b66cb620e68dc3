/*
 * The orders of this machine: the one that is under way, and those that wait for the attendant. An
 * order leaves only when its money and its goods agree.
 */
import { forget, wasHandedOut } from "./dispenser.js";
import { read, write } from "./memory.js";

/** @typedef {import("./connector.js").Charged} Charged */
/**
 * @typedef {object} Order
 * @property {string} orderId
 * @property {keyof typeof import("./texts.js").texts} name of its ticket
 * @property {number} amount
 * @property {number} at when its payment began
 * @property {boolean} [isRepeated] whether only an earlier attempt was answered, as not charged
 * @property {boolean} [isReceived] whether the connector has answered that it knows the order
 * @property {boolean} [isTwoPhase] whether the connector charges when the goods are reported
 * @property {boolean} [isCancelled] whether the customer asked to cancel before the approval
 * @property {boolean} [isApproved] whether the approval is known here
 * @property {boolean} [mayBeOut] whether the handing out has begun
 * @property {boolean} [delivered] what was decided about the goods, once that is so
 * @property {boolean} [isReported] whether the connector has answered this decision
 * @property {Charged} [charged] what is known of the money, on the attendant's list
 * @property {boolean} [isDone] whether the attendant has seen to it
 */

const KEPT = "orders";
export const orders = {
  /** @type {Order | null} */
  current: null,
  /** @type {Order[]} */
  listed: [],
};

/** What the attendant has seen to leaves the list when the page is opened again. */
export async function readOrders() {
  Object.assign(orders, await read(KEPT));
  orders.listed = orders.listed.filter(({ isDone }) => !isDone);
}

/** Returns whether the orders are on the disk as they are now. */
export const save = () =>
  write(KEPT, orders).then(
    () => true,
    () => false,
  );

/** @param {Order} order */
function remove(order) {
  if (orders.current === order) orders.current = null;
  orders.listed = orders.listed.filter((one) => one !== order);
}

/** @param {Order} order */
export async function over(order) {
  remove(order);
  await save();
  await forget(order.orderId).catch(() => undefined);
}

/**
 * The page hands nothing out for a listed order any more.
 * @param {Order} order
 * @param {Charged} charged
 */
export async function list(order, charged) {
  remove(order);
  order.charged = charged;
  orders.listed.push(order);
  await save();
}

/**
 * Whether an order has not been approved yet, as far as this page knows.
 * @param {Order | null} order
 */
export const isOpen = (order) =>
  order !== null && !order.isApproved && !order.mayBeOut && order.delivered === undefined;

/**
 * Whether the goods of an order are out; undefined: nobody knows.
 * @param {Order} order
 * @returns {Promise<boolean | undefined>}
 */
export async function isOut({ orderId, mayBeOut = false, delivered }) {
  if (delivered !== undefined || !mayBeOut) return delivered ?? false;
  return await wasHandedOut(orderId).catch(() => undefined);
}

/**
 * Whether nothing is left to do: goods for money, or neither.
 * @param {Charged} charged
 * @param {boolean | undefined} goods whether they are out
 */
export const agree = (charged, goods) => goods === { yes: true, no: false, unknown: null }[charged];
