/**
 * @typedef {{ readonly name: string, readonly reason: string }} Person
 * @typedef {{ readonly status: number, readonly body: any, readonly next: string | null }} Answer
 *   `body`: the one object of the answer, or its list.
 * @typedef {{ readonly id: string, readonly name: string, readonly data: any }} ServerEvent
 */

const ANSWER_LIMIT_MS = 30_000;
/** An end of day with many transactions over a slow line takes minutes. */
const ACT_LIMIT_MS = 900_000;
const TOKEN = "console-token";
/** Other ports of this name may have set cookies, and the browser would send them with each call. */
const plainly = /** @type {const} */ ({ cache: "no-store", credentials: "omit" });

/** The calls of the connector, made with the token of this page's session. */
export class Api {
  /** Called when the session is over: true by itself, false by the button. */
  onOver = (/** @type {boolean} */ _isOver) => {};
  #active = false;

  constructor() {
    for (const touch of ["keydown", "pointerdown", "pointermove", "wheel"]) {
      addEventListener(touch, () => this.#touched(), { passive: true, capture: true });
    }
  }

  get hasToken() {
    return sessionStorage.getItem(TOKEN) !== null;
  }

  /**
   * @param {string} login
   * @param {string} password
   * @returns {Promise<Answer>}
   */
  async logIn(login, password) {
    const answer = await this.#send("POST", "/session", { login, password }, {}, ANSWER_LIMIT_MS);
    if (answer.status === 200) sessionStorage.setItem(TOKEN, answer.body.token);
    return answer;
  }

  /** Whose session it is. */
  session() {
    return this.#send("GET", "/session", undefined, {}, ANSWER_LIMIT_MS);
  }

  async logOut() {
    const headers = this.#headers();
    this.#forget(false);
    await fetch("/session", { method: "DELETE", headers, ...plainly }).catch(() => {});
  }

  /**
   * @param {string} path as the local API has it
   * @param {number} [limitMs]
   * @returns {Promise<Answer>}
   */
  get(path, limitMs = ANSWER_LIMIT_MS) {
    return this.#send("GET", `/api${path}`, undefined, {}, limitMs);
  }

  /**
   * A file, for the person to keep.
   * @param {string} path
   * @param {string} name
   */
  async download(path, name) {
    const signal = AbortSignal.timeout(ACT_LIMIT_MS);
    const response = await fetch(`/api${path}`, { headers: this.#headers(), signal, ...plainly });
    if (!response.ok) throw new Error((await response.json())[0].error.message);
    const url = URL.createObjectURL(await response.blob());
    const link = Object.assign(document.createElement("a"), { href: url, download: name });
    link.click();
    URL.revokeObjectURL(url);
  }

  /**
   * Does something: with the person who was asked for by `ask`.
   * @param {string} path
   * @param {object | undefined} body
   * @param {Person} person
   * @returns {Promise<Answer>}
   */
  post(path, body, person) {
    const headers = {
      "act-name": encodeURIComponent(person.name),
      "act-reason": encodeURIComponent(person.reason),
    };
    return this.#send("POST", `/api${path}`, body, headers, ACT_LIMIT_MS);
  }

  /**
   * The events of the connector as they happen, until `signal` aborts or the connection ends.
   * @param {string} lastId "" for those from now on, "0" for all that are kept
   * @param {AbortSignal} signal
   * @param {() => void} opened
   * @returns {AsyncGenerator<ServerEvent>}
   */
  async *events(lastId, signal, opened) {
    const headers = { ...this.#headers(), ...(lastId ? { "last-event-id": lastId } : {}) };
    const response = await fetch("/api/events", { headers, signal, ...plainly });
    if (response.status === 401) this.#forget(true);
    if (response.status !== 200 || !response.body) throw new Error(`events: ${response.status}`);
    opened();
    const text = response.body.pipeThrough(new TextDecoderStream());
    let waiting = "";
    for await (const part of /** @type {any} */ (text)) {
      const blocks = (waiting + part).split("\n\n");
      waiting = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = eventOf(block);
        if (event) yield event;
      }
    }
  }

  /** @returns {Record<string, string>} */
  #headers() {
    const active = this.#active ? "yes" : "no";
    this.#active = false;
    const token = sessionStorage.getItem(TOKEN);
    return { ...(token ? { authorization: `Bearer ${token}` } : {}), "user-active": active };
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {object | undefined} body
   * @param {Record<string, string>} more
   * @param {number} limitMs
   * @returns {Promise<Answer>}
   */
  async #send(method, path, body, more, limitMs) {
    /** @type {Record<string, string>} */
    const headers = { ...this.#headers(), ...more };
    if (path.startsWith("/api") && !this.hasToken) throw new Error("the session is over");
    if (body !== undefined) headers["content-type"] = "application/json";
    const response = await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(limitMs),
      ...plainly,
    });
    const told = await response.json();
    if (response.status === 401 && path !== "/session") this.#forget(true);
    const one = Array.isArray(told) && isOne(method, path, response) ? told[0] : told;
    return { status: response.status, body: one, next: response.headers.get("next-cursor") };
  }

  #touched() {
    this.#active = true;
  }

  /** @param {boolean} isOver by itself, and not by the button */
  #forget(isOver) {
    const had = this.hasToken;
    sessionStorage.removeItem(TOKEN);
    if (had) this.onOver(isOver);
  }
}

const lists =
  /^\/api\/(payments|unmatched-transactions|reconciliation|outbox|acts|settings|logs)(\?|$)/;

/**
 * Every body of the API is a list; that of one object is told as the object.
 * @param {string} method
 * @param {string} path
 * @param {Response} response
 */
function isOne(method, path, response) {
  return !(method === "GET" && response.ok && lists.test(path));
}

/**
 * One event of a stream (HTML Living Standard 9.2); undefined for a comment.
 * @param {string} block
 * @returns {ServerEvent | undefined}
 */
function eventOf(block) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
  }
  const { id = "", event, data } = fields;
  return event && data ? { id, name: event, data: JSON.parse(data) } : undefined;
}
