/**
 * @typedef {{ readonly name: string, readonly reason: string }} Person
 * @typedef {{ readonly status: number, readonly body: any, readonly next: string | null,
 *   readonly replayed: boolean }} Answer
 *   `body`: the one object of the answer, or its list. `replayed`: an earlier call did it.
 * @typedef {{ readonly id: string, readonly name: string, readonly data: any }} ServerEvent
 */

const ANSWER_LIMIT_MS = 30_000;
/** How long an answer to an action may take: an end of day over a slow line takes minutes. */
const ACTION_LIMIT_MS = 900_000;
const TOKEN = "console-token";
/**
 * The options of each call. No cookies are sent: programs on other ports of this host name may have
 * set some, and the browser would send them here.
 */
const plainly = /** @type {const} */ ({ cache: "no-store", credentials: "omit" });

/** Calls the local API of the connector with the token of this page's session. */
export class Api {
  /** Called when the session is over: with false when the person logged out. */
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
    const answer = await this.#send("POST", "/session", { login, password });
    if (answer.status === 200) sessionStorage.setItem(TOKEN, answer.body.token);
    return answer;
  }

  /** Resolves with the login and the role of this session. */
  session() {
    return this.#send("GET", "/session");
  }

  async logOut() {
    const headers = this.#headers();
    this.#forget(false);
    await fetch("/session", { method: "DELETE", headers, ...plainly }).catch(() => {});
  }

  /**
   * Resolves with the one object at a path of the local API.
   * @param {string} path
   * @param {number} [limitMs]
   */
  get(path, limitMs) {
    return this.#send("GET", `/api${path}`, undefined, {}, limitMs);
  }

  /**
   * Resolves with all objects at a path of the local API; with one object when the call is refused.
   * @param {string} path
   */
  async list(path) {
    const answer = await this.#send("GET", `/api${path}`);
    return answer.status === 200 ? { ...answer, body: answer.all } : answer;
  }

  /**
   * Downloads a file into the browser's folder.
   * @param {string} path
   * @param {string} name
   */
  async download(path, name) {
    const signal = AbortSignal.timeout(ACTION_LIMIT_MS);
    const response = await fetch(`/api${path}`, { headers: this.#headers(), signal, ...plainly });
    if (!response.ok) throw new Error((await response.json())[0].error.message);
    const url = URL.createObjectURL(await response.blob());
    const link = Object.assign(document.createElement("a"), { href: url, download: name });
    link.click();
    URL.revokeObjectURL(url);
  }

  /**
   * Makes a call that changes something, in the name of the person whom the dialogue asked.
   * @param {string} path
   * @param {object | undefined} body
   * @param {Person} person
   */
  post(path, body, person) {
    const headers = {
      "act-name": encodeURIComponent(person.name),
      "act-reason": encodeURIComponent(person.reason),
    };
    return this.#send("POST", `/api${path}`, body, headers, ACTION_LIMIT_MS);
  }

  /**
   * Yields the events of the connector as they happen, until `signal` aborts or the connection
   * ends.
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
   * @param {object} [body]
   * @param {Record<string, string>} [more] headers
   * @param {number} [limitMs]
   * @returns {Promise<Answer & { readonly all: any }>} `all`: the body as it came
   */
  async #send(method, path, body, more, limitMs = ANSWER_LIMIT_MS) {
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
    const all = await response.json();
    if (response.status === 401 && path !== "/session") this.#forget(true);
    const next = response.headers.get("next-cursor");
    const replayed = response.headers.has("idempotent-replay");
    const body_ = Array.isArray(all) ? all[0] : all;
    return { status: response.status, body: body_, all, next, replayed };
  }

  #touched() {
    this.#active = true;
  }

  /** @param {boolean} isOver false: the person logged out */
  #forget(isOver) {
    const had = this.hasToken;
    sessionStorage.removeItem(TOKEN);
    if (had) this.onOver(isOver);
  }
}

/**
 * Returns one event of a stream (HTML Living Standard 9.2); undefined for a comment.
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
