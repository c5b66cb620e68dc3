import { dayOf, plainNumber } from "../format.js";

/** @type {ReadonlyArray<readonly [RegExp, string]>} Calls that say all by their path. */
const plain = [
  [/^\/terminal\/accept$/, "accept"],
  [/^\/reset$/, "reset"],
  [/^\/tlc$/, "tlc"],
  [/^\/update\/check$/, "check"],
  [/^\/update\/unhold$/, "unhold"],
  [/^\/gateway\/copies$/, "copies"],
  [/^\/gateway\/confirm$/, "confirm"],
  [/^\/gateway\/cancel$/, "cancel"],
  [/^\/reversal$/, "reversal"],
  [/^\/outbox\/[^/]+\/requeue$/, "requeue"],
  [/^\/outbox\/[^/]+\/drop$/, "drop"],
];

/**
 * The thing that a person asked for, as a sentence. A call that nobody foresaw, or whose body was too long to
 * be kept whole, is told as "another act"; its own words stand behind that.
 * @param {{ call: string, body: string | null }} act
 * @param {import("../words.js").Words} words
 * @param {string} language
 */
export function actTold({ call, body }, words, language) {
  const path = (call.split(" ")[1] ?? "").split("?")[0] ?? "";
  const given = read(body);
  const { note: _, items = [], until, amount, ...rest } = given;
  const key = `acts.say.${keyOf(path, given)}`;
  const text = words(key, {
    ...rest,
    id: given.transactionPublicId ?? given.orderId ?? partOf(path),
    orderId: given.orderId ?? given.transactionPublicId ?? partOf(path),
    ...(until ? { day: dayOf(until.slice(0, 10), language) } : {}),
    ...(amount === undefined ? {} : { amount: plainNumber(Number(amount), language) }),
    items: [items].flat().join(", "),
    count: [items].flat().length,
  });
  return text === key ? words("acts.other") : text;
}

/**
 * How it ended. Only a status below 500 says that nothing was done.
 * @param {{ http: number | null, code: string | null }} act
 * @param {import("../words.js").Words} words
 * @param {(code: string) => string} reasonOf the page's sentence about a code
 */
export function endTold({ http, code }, words, reasonOf) {
  if (http === null) return words("acts.open");
  if (http === 200) return words("acts.done");
  const end = http < 500 ? "refused" : "failed";
  if (!code) return words(`acts.${end}.plain`, { http });
  return words(`acts.${end}`, { reason: reasonOf(code), code });
}

/**
 * @param {string} path
 * @param {any} given
 */
function keyOf(path, given) {
  if (path === "/seen") return `seen.${given.kind}`;
  if (path === "/update/hold") return given.until ? "holdUntil" : "hold";
  if (path === "/gateway/settle") return given.happened ? "happened" : "notHappened";
  if (path === "/gateway/refund") return given.amount === undefined ? "refund" : "refundPart";
  if (/^\/payment\/[^/]+\/settle$/.test(path)) return `settle.${given.outcome}`;
  return plain.find(([form]) => form.test(path))?.[1];
}

/**
 * The order or transaction that a path names.
 * @param {string} path
 */
function partOf(path) {
  try {
    return decodeURIComponent(path.split("/")[2] ?? "");
  } catch {
    return "";
  }
}

/**
 * @param {string | null} body
 * @returns {any}
 */
function read(body) {
  try {
    return JSON.parse(body ?? "{}") ?? {};
  } catch {
    return {};
  }
}
