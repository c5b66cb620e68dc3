import { dayOf, plainNumber } from "../format.js";

/** @type {ReadonlyArray<readonly [RegExp, string]>} Calls whose path alone gives the sentence. */
const plain = [
  [/^\/terminal\/accept$/, "accept"],
  [/^\/reset$/, "reset"],
  [/^\/tlc$/, "tlc"],
  [/^\/backup$/, "backup"],
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
 * What a person asked for, as a sentence; "another action" for a call that has no sentence, or
 * whose body was cut when it was kept. The page shows the call itself below the sentence.
 * @param {{ call: string, body: string | null }} entry
 * @param {import("../texts.js").Texts} texts
 */
export function actionText({ call, body }, texts) {
  const path = (call.split(" ")[1] ?? "").split("?")[0] ?? "";
  const given = read(body);
  const { note: _, items = [], until, amount, ...rest } = given;
  const key = `audit.say.${keyOf(path, given)}`;
  const text = texts(key, {
    ...rest,
    id: given.transactionPublicId ?? given.orderId ?? partOf(path),
    orderId: given.orderId ?? given.transactionPublicId ?? partOf(path),
    ...(until ? { day: dayOf(until.slice(0, 10), texts) } : {}),
    ...(amount === undefined ? {} : { amount: plainNumber(Number(amount), texts) }),
    items: [items].flat().join(", "),
    count: [items].flat().length,
  });
  return text === key ? texts("audit.other") : text;
}

/**
 * Returns the outcome of an action as a sentence. Only a status below 500 means that nothing was
 * done.
 * @param {{ http: number | null, code: string | null }} entry
 * @param {import("../texts.js").Texts} texts
 * @param {(code: string) => string} reasonOf gives the page's sentence for a code
 */
export function endText({ http, code }, texts, reasonOf) {
  if (http === null) return texts("audit.open");
  if (http === 200) return texts("audit.done");
  const end = http < 500 ? "refused" : "failed";
  if (!code) return texts(`audit.${end}.plain`, { http });
  return texts(`audit.${end}`, { reason: reasonOf(code), code });
}

/**
 * @param {string} path
 * @param {any} given
 */
function keyOf(path, given) {
  if (path === "/seen") {
    return `acknowledge.${given.kind === "stray" ? "unmatched" : given.kind}`;
  }
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
