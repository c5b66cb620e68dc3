/*
 * The machine that hands out tickets, played by a timer. A real machine takes its place, and keeps
 * by itself, over a power cut, which order it has served.
 */

const HANDING_OUT_MS = 1_500;
/** @param {string} orderId */
const served = (orderId) => `served ${orderId}`;

/**
 * Hands the ticket of an order out, once; false when it cannot.
 * @param {string} orderId
 */
export async function handOut(orderId) {
  if (wasHandedOut(orderId)) return true;
  await new Promise((resolve) => setTimeout(resolve, HANDING_OUT_MS));
  localStorage.setItem(served(orderId), "yes");
  return true;
}

/** @param {string} orderId */
function wasHandedOut(orderId) {
  return localStorage.getItem(served(orderId)) !== null;
}

/**
 * The order is over for good.
 * @param {string} orderId
 */
export function forget(orderId) {
  localStorage.removeItem(served(orderId));
}
