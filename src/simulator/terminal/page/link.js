/** The calls of the simulator's control API that the page makes. */

/**
 * Everything the page knows of the terminal, as `GET /state` answers it.
 * @typedef {object} State
 * @property {string} protocol
 * @property {"unregistered" | "ready" | "busy"} condition
 * @property {boolean} cableIn
 * @property {boolean} powered
 * @property {{stage: string, text: string, texts: Readonly<Record<string, string>>,
 *   language: string | null, amount: string | null}} screen `language`: the one of --language
 * @property {"card" | "key" | "key-or-card" | "digits" | null} wants
 * @property {"auto" | "manual"} customer
 * @property {boolean} outOfOrder
 * @property {boolean} paperOut
 * @property {boolean} busy
 * @property {boolean} swapped
 * @property {boolean} [unregistered]
 * @property {readonly string[]} [displayed]
 */

/**
 * One thing that happened on the wire.
 * @typedef {object} WireEvent
 * @property {number} seq
 * @property {string} at
 * @property {string} what
 * @property {"in" | "out"} [direction]
 * @property {string} [hex]
 * @property {string} [text]
 * @property {string} [message]
 * @property {string} [says]
 * @property {readonly WireField[]} [fields]
 * @property {number} [repeat]
 * @property {string} [note]
 * @property {string} [phase]
 */

/**
 * @typedef {object} WireField
 * @property {string} [tag]
 * @property {string} name
 * @property {string} value
 * @property {string} [means]
 */

/**
 * @template T
 * @param {string} path
 * @param {RequestInit} [request]
 * @returns {Promise<T>}
 */
export async function call(path, request = {}) {
  const response = await fetch(path, request);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error);
  return body;
}

/** The member of `POST /words` that names what a hand does. */
const ACTION = "word";

/**
 * Does one of `GET /words`, by the name that follows `simulate` in a shell.
 * @param {string} action
 * @param {Readonly<Record<string, string>>} [asked]
 */
export function say(action, asked = {}) {
  return call("/words", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...asked, [ACTION]: action }),
  });
}

/**
 * Returns the line of a shell that does the same.
 * @param {string} action
 * @param {Readonly<Record<string, string>>} [asked]
 */
export function shellLine(action, asked = {}) {
  const { value, ...named } = asked;
  const options = Object.entries(named).map(([name, given]) => `--${name} ${given}`);
  return ["./launch.sh simulate", action, ...(value ? [value] : []), ...options].join(" ");
}

const AGAIN_MS = 1_000;

/** Aborted while the page is hidden. */
let front = new AbortController();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) front.abort();
  else front = new AbortController();
});

/**
 * Follows the wire until `signal` aborts: what was, then what comes, and again after a break. Only
 * in front: a browser has six connections to one port for all its pages, and a stream keeps one.
 * @param {AbortSignal} signal
 * @param {(events: readonly WireEvent[]) => void} onEvents
 */
export async function followWire(signal, onEvents) {
  while (!signal.aborted) {
    if (!document.hidden) await followOnce(AbortSignal.any([signal, front.signal]), onEvents);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/**
 * @param {AbortSignal} signal
 * @param {(events: readonly WireEvent[]) => void} onEvents
 */
async function followOnce(signal, onEvents) {
  try {
    const stream = await fetch("/events", { signal });
    /** @type {{events: WireEvent[]}} */
    const { events } = await call("/trace?last=200", { signal });
    onEvents(events);
    if (stream.body) await readLines(stream.body, (line) => onEvents([JSON.parse(line)]));
  } catch {
    // The simulator is away, which the state says, or the page is hidden.
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {(line: string) => void} onLine
 */
async function readLines(body, onLine) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
}
