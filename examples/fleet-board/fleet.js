import { isValid } from "./schema.js";

/**
 * @import { DocumentOf } from "../../src/supervisor/fleet/documents.ts"
 * @import { Schema } from "./schema.js"
 */

/** @typedef {DocumentOf<"state">} State */
/** @typedef {DocumentOf<"alarm">} Alarm */
/** @typedef {DocumentOf<"payment">} Payment */
/** @typedef {DocumentOf<"reconciliation">} Reconciliation */
/** @typedef {DocumentOf<"metrics">} Metrics */
/** @typedef {State | Alarm | Payment | Reconciliation | Metrics} FleetDocument */

/**
 * What is known of one kiosk.
 * @typedef {{
 *   name: string, state: State | null, known: State["now"], metrics: Metrics | null,
 *   alarm: Alarm[], payment: Payment[], reconciliation: Reconciliation[],
 * }} Kiosk
 */

/** Each client that may publish below `connector/1` can name kiosks, so their number is limited. */
const KIOSKS_MAX = 5_000;
const BYTES_MAX = 64 * 1024;
/** How many alarms, payments and comparisons of a kiosk are kept. */
const KEPT = 20;
const topic = /^connector\/1\/([A-Za-z0-9_-]{1,64})\/([a-z]+)$/;

/** What the board knows: made of documents alone, without a page. */
export class Fleet {
  /** @type {Map<string, Kiosk>} */
  kiosks = new Map();
  /** Messages that are no document of a kiosk, or of one too many. */
  refused = 0;
  /**
   * Births and deaths of this page's time, the newest first.
   * @type {{ kiosk: string, connection: State["connection"], at: string }[]}
   */
  changes = [];
  #schemas;

  /** @param {Record<string, Schema>} schemas */
  constructor(schemas) {
    this.#schemas = schemas;
  }

  /**
   * Takes a message; the name of the kiosk that it changed, else null.
   * @param {string} address
   * @param {Uint8Array} bytes
   * @param {boolean} isRetained
   */
  take(address, bytes, isRetained) {
    const [, name = "", kind = ""] = topic.exec(address) ?? [];
    const document = name ? this.#read(kind, bytes) : null;
    if (document?.kiosk !== name) {
      this.refused += 1;
      return null;
    }
    const kiosk = this.#kiosk(name);
    if (!kiosk) return null;
    if (kind === "state") this.#state(kiosk, /** @type {State} */ (document), isRetained);
    else if (kind === "metrics") kiosk.metrics = /** @type {Metrics} */ (document);
    else if (kind === "alarm") keep(kiosk.alarm, /** @type {Alarm} */ (document));
    else if (kind === "payment") keep(kiosk.payment, /** @type {Payment} */ (document));
    else keep(kiosk.reconciliation, /** @type {Reconciliation} */ (document));
    return name;
  }

  /**
   * @param {string} kind
   * @param {Uint8Array} bytes
   * @returns {FleetDocument | null}
   */
  #read(kind, bytes) {
    const schema = Object.hasOwn(this.#schemas, kind) ? this.#schemas[kind] : undefined;
    if (!schema || bytes.length > BYTES_MAX) return null;
    try {
      const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
      return isValid(schema, value) ? value : null;
    } catch {
      return null;
    }
  }

  /** @param {string} name */
  #kiosk(name) {
    const known = this.kiosks.get(name);
    if (known) return known;
    if (this.kiosks.size >= KIOSKS_MAX) {
      this.refused += 1;
      return null;
    }
    /** @type {Kiosk} */
    const made = { name, state: null, known: null, metrics: null, ...emptyLists() };
    this.kiosks.set(name, made);
    return made;
  }

  /**
   * @param {Kiosk} kiosk
   * @param {State} state
   * @param {boolean} isRetained
   */
  #state(kiosk, state, isRetained) {
    const before = kiosk.state;
    kiosk.state = state;
    // A lost kiosk reports no more, so its last version and its last payments in doubt are kept.
    kiosk.known = state.now ?? kiosk.known;
    const isNews = !isRetained && before?.connection !== state.connection;
    // A new connection that replaced one is a birth without a death.
    const isAgain = !isRetained && before?.since !== state.since && state.connection === "online";
    if (!isNews && !isAgain) return;
    this.changes.unshift({ kiosk: kiosk.name, connection: state.connection, at: state.at });
    this.changes.length = Math.min(this.changes.length, KEPT);
  }
}

const emptyLists = () => ({ alarm: [], payment: [], reconciliation: [] });

/**
 * The newest first; a document that was sent again after a lost PUBACK is kept once.
 * @template {{ id: string, sequence: number }} Document
 * @param {Document[]} list
 * @param {Document} document
 */
function keep(list, document) {
  if (list.some(({ id }) => id === document.id)) return;
  list.unshift(document);
  list.sort((one, other) => other.sequence - one.sequence);
  list.length = Math.min(list.length, KEPT);
}

/**
 * Known to take money now: whatever is not known to, does not.
 * @param {Kiosk} kiosk
 */
export const takesMoney = ({ state }) => state?.now?.canPay === "yes";

/**
 * Payments in doubt, and transactions that the gateway refused.
 * @param {Kiosk} kiosk
 */
export function waitsForPerson({ known }) {
  const { payments, gateway } = known ?? {};
  return (payments?.inDoubt ?? 0) + (gateway?.parked ?? 0);
}

/**
 * "" when the kiosk has not reported its version.
 * @param {Kiosk} kiosk
 */
export const versionOf = ({ known }) => known?.versions.supervisor ?? "";

/**
 * The state of a kiosk in a few words, and the colour that goes with it.
 * @param {Kiosk} kiosk
 * @returns {[summary: string, colour: string]}
 */
export function summaryOf(kiosk) {
  const { state } = kiosk;
  if (!state) return ["not known", "look"];
  if (state.connection === "lost") return ["lost", "bad"];
  if (state.connection === "stopped") return ["stopped", "look"];
  if (!takesMoney(kiosk)) return ["cannot take money", "bad"];
  return waitsForPerson(kiosk) > 0 ? ["waits for a person", "look"] : ["takes money", "good"];
}

/** @typedef {{ text: string, noMoney: boolean, waits: boolean, version: string | null }} Choice */

/**
 * Whether a kiosk is listed.
 * @param {Kiosk} kiosk
 * @param {Choice} choice
 */
export function passes(kiosk, { text, noMoney, waits, version }) {
  if (noMoney && takesMoney(kiosk)) return false;
  if (waits && waitsForPerson(kiosk) === 0) return false;
  if (version !== null && versionOf(kiosk) !== version) return false;
  const { name, state } = kiosk;
  const { now } = state ?? {};
  const named = [...(now?.obstacles ?? []), ...(now?.troubles ?? []), now?.terminal?.terminalId];
  return [name, ...named, summaryOf(kiosk)[0]]
    .join(" ")
    .toLowerCase()
    .includes(text.trim().toLowerCase());
}

/**
 * How many kiosks run which version, the newest first; an unknown version comes last.
 * @param {Kiosk[]} kiosks
 * @returns {[version: string, count: number][]}
 */
export function versionsOf(kiosks) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const kiosk of kiosks) {
    const version = versionOf(kiosk);
    counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  /** @param {string} version */
  const numbers = (version) => version.split(".").map(Number);
  return [...counts].sort(([one], [other]) => {
    if (one === "" || other === "") return one === "" ? 1 : -1;
    const [a, b] = [numbers(one), numbers(other)];
    const apart = [0, 1, 2].map((part) => (b[part] ?? 0) - (a[part] ?? 0));
    return apart.find((one) => one !== 0) ?? 0;
  });
}
