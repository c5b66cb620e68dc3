import { createHash, timingSafeEqual } from "node:crypto";
import { type Clock, sleep } from "../../shared/time.ts";

export type Role = "kiosk" | "operator";

export interface Pair {
  readonly login: string;
  readonly password: string;
}

const SLOWDOWN_MIN_MS = 100;
const SLOWDOWN_MAX_MS = 5_000;
/** Failures of a client are forgotten when it has not failed for so long. */
const FORGOTTEN_AFTER_MS = 60_000;
/** Failing requests that wait at the same time; more are answered at once, so none pile up. */
const WAITING_MAX = 64;
/** Clients that are remembered; of more the oldest is forgotten. */
const CLIENTS_MAX = 256;

interface Failures {
  readonly count: number;
  readonly lastMs: number;
}

/**
 * Checks Basic credentials in constant time. Failing answers are delayed more and more, for each
 * client by itself; good ones never, so that nobody can lock the kiosk out (DESIGN 5). A client is
 * an address with a login: on one machine everybody has the same address. A good answer does not
 * undo failures, or somebody who guesses would be reset by the kiosk's own calls.
 */
export class Credentials {
  readonly #kiosk: Pair;
  readonly #operator: Pair | undefined;
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failures>();
  #waiting = 0;

  constructor(kiosk: Pair, operator: Pair | undefined, clock: Clock) {
    this.#kiosk = kiosk;
    this.#operator = operator;
    this.#clock = clock;
  }

  /** The role of a pair, or undefined after the delay that a wrong one earns. */
  async roleOf(login: string, password: string, address: string): Promise<Role | undefined> {
    // Both are always compared, so that the time tells nothing about which one was near.
    const kiosk = samePair({ login, password }, this.#kiosk);
    const operator = this.#operator ? samePair({ login, password }, this.#operator) : false;
    if (kiosk || operator) return operator ? "operator" : "kiosk";
    await this.#delay(this.#failed(`${address} ${digest(login).toString("base64")}`));
    return undefined;
  }

  /** How often this client has failed, this time included. */
  #failed(client: string): number {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#failures.get(client);
    const recent = before !== undefined && nowMs - before.lastMs < FORGOTTEN_AFTER_MS;
    const count = recent ? before.count + 1 : 1;
    // Deleted first, so that the map keeps the order of the last failures.
    this.#failures.delete(client);
    this.#failures.set(client, { count, lastMs: nowMs });
    const oldest = this.#failures.keys().next();
    if (this.#failures.size > CLIENTS_MAX && !oldest.done) this.#failures.delete(oldest.value);
    return count;
  }

  async #delay(failures: number): Promise<void> {
    if (this.#waiting >= WAITING_MAX) return;
    this.#waiting += 1;
    const delayMs = Math.min(SLOWDOWN_MIN_MS * 2 ** (failures - 1), SLOWDOWN_MAX_MS);
    try {
      await sleep(this.#clock, "failed authentication", delayMs);
    } finally {
      this.#waiting -= 1;
    }
  }
}

function samePair(given: Pair, expected: Pair): boolean {
  const login = sameText(given.login, expected.login);
  const password = sameText(given.password, expected.password);
  return login && password;
}

/** Digests have one length, whatever was given. */
function sameText(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
