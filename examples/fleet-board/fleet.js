import { isValid } from "./schema.js";

/** Whoever may publish below `connector/1` can name kiosks: the page stays usable all the same. */
const KIOSKS_MAX = 5_000;
const BYTES_MAX = 64 * 1024;
/** How many alarms, payments and comparisons of a kiosk are kept. */
const KEPT = 20;
const topic = /^connector\/1\/([A-Za-z0-9_-]{1,64})\/([a-z]+)$/;

/** What the board knows: made of documents alone, without a page. */
export class Fleet {
  kiosks = new Map();
  /** Messages that are no document of a kiosk, or of one too many. */
  refused = 0;
  /** Births and deaths of this page's time, the newest first. */
  changes = [];
  #schemas;

  constructor(schemas) {
    this.#schemas = schemas;
  }

  /** Takes a message; the name of the kiosk that it changed, else null. */
  take(address, bytes, isRetained) {
    const [, name = "", kind = ""] = topic.exec(address) ?? [];
    const document = name ? this.#read(kind, bytes) : null;
    if (document?.kiosk !== name) {
      this.refused += 1;
      return null;
    }
    const kiosk = this.#kiosk(name);
    if (!kiosk) return null;
    if (kind === "state") this.#state(kiosk, document, isRetained);
    else if (kind === "metrics") kiosk.metrics = document;
    else keep(kiosk[kind], document);
    return name;
  }

  #read(kind, bytes) {
    if (!Object.hasOwn(this.#schemas, kind) || bytes.length > BYTES_MAX) return null;
    try {
      const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
      return isValid(this.#schemas[kind], value) ? value : null;
    } catch {
      return null;
    }
  }

  #kiosk(name) {
    const known = this.kiosks.get(name);
    if (known) return known;
    if (this.kiosks.size >= KIOSKS_MAX) {
      this.refused += 1;
      return null;
    }
    const made = { name, state: null, known: null, metrics: null, ...emptyLists() };
    this.kiosks.set(name, made);
    return made;
  }

  #state(kiosk, state, isRetained) {
    const before = kiosk.state;
    kiosk.state = state;
    // A lost kiosk tells no more: its version and its payments in doubt are those of before.
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

/** The newest first; a document that was sent again after a lost acknowledgement is kept once. */
function keep(list, document) {
  if (list.some(({ id }) => id === document.id)) return;
  list.unshift(document);
  list.sort((one, other) => other.sequence - one.sequence);
  list.length = Math.min(list.length, KEPT);
}

/** Known to take money now: whatever is not known to, does not. */
export const takesMoney = ({ state }) => state?.now?.canPay === "yes";

/** Payments in doubt, and transactions that the gateway refused. */
export function waitsForPerson({ known }) {
  const { payments, gateway } = known ?? {};
  return (payments?.inDoubt ?? 0) + (gateway?.parked ?? 0);
}

/** "" when the kiosk has not told. */
export const versionOf = ({ known }) => known?.versions.supervisor ?? "";

/** One word for a kiosk, and the colour that goes with it. */
export function wordOf(kiosk) {
  const { state } = kiosk;
  if (!state) return ["not known", "look"];
  if (state.connection === "lost") return ["lost", "bad"];
  if (state.connection === "stopped") return ["stopped", "look"];
  if (!takesMoney(kiosk)) return ["cannot take money", "bad"];
  return waitsForPerson(kiosk) > 0 ? ["waits for a person", "look"] : ["takes money", "good"];
}

/** Whether a kiosk is listed. */
export function passes(kiosk, { text, noMoney, waits, version }) {
  if (noMoney && takesMoney(kiosk)) return false;
  if (waits && waitsForPerson(kiosk) === 0) return false;
  if (version !== null && versionOf(kiosk) !== version) return false;
  const { name, state } = kiosk;
  const { obstacles = [], troubles = [], terminal } = state?.now ?? {};
  const words = [name, ...obstacles, ...troubles, terminal?.terminalId ?? "", wordOf(kiosk)[0]];
  return words.join(" ").toLowerCase().includes(text.trim().toLowerCase());
}

/** How many kiosks run which version, the newest first; those that do not tell come last. */
export function versionsOf(kiosks) {
  const counts = new Map();
  for (const kiosk of kiosks) {
    const version = versionOf(kiosk);
    counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  const numbers = (version) => version.split(".").map(Number);
  return [...counts].sort(([one], [other]) => {
    if (one === "" || other === "") return one === "" ? 1 : -1;
    const [a, b] = [numbers(one), numbers(other)];
    return b[0] - a[0] || b[1] - a[1] || b[2] - a[2];
  });
}
