/*
 * The kiosk page's line to the connector: a session instead of login and password, one function for
 * a call, one for the stream of events.
 */

const KEPT = "session-token";
const AGAIN_MS = 2_000;
/** Longer than the longest answer of the connector. */
const ANSWER_MS = 240_000;

let token = sessionStorage.getItem(KEPT) ?? "";

/** Begins a session with the ticket of the start script; a reload goes on with the old one. */
export async function openSession() {
  const [, ticket] = /^#ticket=([\w-]+)$/.exec(location.hash) ?? [];
  history.replaceState(null, "", location.pathname);
  if (ticket === undefined) return token !== "";
  const response = await fetch("/session", {
    method: "POST",
    credentials: "omit",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ticket }),
  }).catch(() => undefined);
  if (!response?.ok) return token !== "";
  const [answer] = await response.json();
  token = answer.token;
  sessionStorage.setItem(KEPT, token);
  return true;
}

/**
 * An answer, as far as this kiosk reads it.
 * @typedef {object} Answer
 * @property {string} status
 * @property {string} [orderId]
 * @property {number | null} [secondsLeft] of a sale that is Approved: until it is taken back
 * @property {{startedAt: string}[]} [attempts] to charge the order, in a lookup, the newest last
 * @property {{code?: string, charged?: Charged, retry?: string} | null} error
 * @property {{orderId: string | null, prompt: string | null, promptTexts?: PromptTexts,
 *   goodsBy?: string | null, secondsLeft?: number | null} | null} [running]
 *
 * @typedef {"yes" | "no" | "unknown"} Charged
 * @typedef {{http: number, answer: Answer} | undefined} Reply undefined: no answer came
 *
 * In each language; nothing: the terminal's code says nothing, or the connector is older.
 * @typedef {Readonly<Record<string, string>> | null | undefined} PromptTexts
 */

/**
 * One call; rejects when nothing is answered. 4xx and 5xx carry the same kind of body.
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @param {number} [withinMs] how long the answer may take
 * @returns {Promise<{http: number, answer: Answer}>}
 */
export async function call(method, path, body, withinMs = ANSWER_MS) {
  const response = await fetch(`/api${path}`, {
    method,
    // The session is in the header; cookies are those of other programs on this machine.
    credentials: "omit",
    headers: {
      authorization: `Bearer ${token}`,
      "user-active": "yes",
      ...(body && { "content-type": "application/json" }),
    },
    signal: AbortSignal.timeout(withinMs),
    ...(body && { body: JSON.stringify(body) }),
  });
  const [answer = {}] = await response.json();
  if (!answer.status && response.status !== 401) throw new TypeError("no answer of a connector");
  return { http: response.status, answer };
}

/** @type {(...given: Parameters<typeof call>) => Promise<Reply>} */
export const ask = (...given) => call(...given).catch(() => undefined);

/** @type {(orderId: string) => string} */
export const pathOf = (orderId) => `/payment/${encodeURIComponent(orderId)}`;

/** @type {Readonly<Record<string, Charged>>} */
const chargedOfStatus = { Success: "yes", Reversed: "no", Declined: "no", Cancelled: "no" };

/**
 * What an answer says of the money of its order.
 * @param {Answer} answer
 * @returns {Charged}
 */
export function chargedOf({ status, error }) {
  return (error ? error.charged : chargedOfStatus[status]) ?? "unknown";
}

/**
 * Whether a lookup answers with the outcome of an attempt that began before a time.
 * @param {Answer} answer
 * @param {number} at
 */
export const isEarlier = ({ attempts }, at) =>
  !(Date.parse(attempts?.at(-1)?.startedAt ?? "") >= at);

/**
 * Whether a reply decides something. A session that is over (401) says nothing about the money.
 * @param {Reply} reply
 * @returns {reply is NonNullable<Reply>}
 */
export function isClear(reply) {
  if (!reply || reply.http === 401) return false;
  return reply.answer.status === "Approved" || chargedOf(reply.answer) !== "unknown";
}

/**
 * @typedef {(name: string, data: {orderId?: string, state?: string, text?: string,
 *   texts?: PromptTexts, secondsLeft?: number | null}) => void} OnEvent
 */

/** Aborted while another page covers this one. */
let front = new AbortController();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) front.abort();
  else front = new AbortController();
});

/**
 * Follows the events as long as the session lasts: `onEvent(name, data)`, and `onChange()` when the
 * stream has begun or ended, which is how a page learns at once that the connector is away. Only in
 * front: a browser has six connections to one port for all its pages, and a stream keeps one.
 * @param {OnEvent} onEvent
 * @param {() => void} onChange
 */
export async function followEvents(onEvent, onChange) {
  for (;;) {
    if (document.hidden) front.abort();
    try {
      const headers = { authorization: `Bearer ${token}` };
      const { signal } = front;
      const response = await fetch("/api/events", { headers, credentials: "omit", signal });
      // The session is over, so the next call is answered with 401.
      if (response.status === 401) return;
      onChange();
      if (response.ok && response.body) await readEvents(response.body.getReader(), onEvent);
    } catch {
      // The connector is away, or the page is hidden: the outcome does not hang on events.
    }
    if (!document.hidden) onChange();
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/**
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader
 * @param {OnEvent} onEvent
 */
async function readEvents(reader, onEvent) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, name] = /^event: (.*)$/m.exec(block) ?? [];
      const [, data] = /^data: (.*)$/m.exec(block) ?? [];
      if (name && data) onEvent(name, JSON.parse(data));
    }
  }
}
