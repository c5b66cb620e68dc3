/*
 * The machine that hands out tickets, played by a timer. A real machine takes its place, and keeps
 * by itself, over a power cut, which order it has served.
 */
import { read, write } from "./memory.js";

const HANDING_OUT_MS = 1_500;
/** @param {string} orderId */
const served = (orderId) => `served ${orderId}`;

/**
 * Hands the ticket of an order out, once; false when it has not. Rejects when that is not known.
 * @param {string} orderId
 */
export async function handOut(orderId) {
  if (await wasHandedOut(orderId)) return true;
  await write(served(orderId), "begun");
  await new Promise((resolve) => setTimeout(resolve, HANDING_OUT_MS));
  await write(served(orderId), "out");
  return true;
}

/**
 * Whether the ticket of an order is out; undefined: the machine stopped in between.
 * @param {string} orderId
 * @returns {Promise<boolean | undefined>}
 */
export async function wasHandedOut(orderId) {
  const kept = await read(served(orderId));
  return kept === "begun" ? undefined : kept === "out";
}

/**
 * The order is over for good.
 * @param {string} orderId
 */
export const forget = (orderId) => write(served(orderId), undefined);
