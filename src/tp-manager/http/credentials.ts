import { createHash, timingSafeEqual } from "node:crypto";
import { type Clock, sleep } from "../../shared/time.ts";

export type Role = "kiosk" | "operator";

export interface Pair {
  readonly login: string;
  readonly password: string;
}

const SLOWDOWN_MIN_MS = 100;
const SLOWDOWN_MAX_MS = 5_000;
/** Failing requests that wait at the same time; more are answered at once, so none pile up. */
const WAITING_MAX = 64;

/**
 * Checks Basic credentials in constant time. Failing answers are delayed more and more; good ones
 * never, so that nobody can lock the kiosk out (DESIGN 5).
 */
export class Credentials {
  readonly #kiosk: Pair;
  readonly #operator: Pair | undefined;
  readonly #clock: Clock;
  #failures = 0;
  #waiting = 0;

  constructor(kiosk: Pair, operator: Pair | undefined, clock: Clock) {
    this.#kiosk = kiosk;
    this.#operator = operator;
    this.#clock = clock;
  }

  /** The role of a pair, or undefined after the delay that a wrong one earns. */
  async roleOf(login: string, password: string): Promise<Role | undefined> {
    // Both are always compared, so that the time tells nothing about which one was near.
    const kiosk = samePair({ login, password }, this.#kiosk);
    const operator = this.#operator ? samePair({ login, password }, this.#operator) : false;
    if (kiosk || operator) {
      this.#failures = 0;
      return operator ? "operator" : "kiosk";
    }
    await this.#delay();
    return undefined;
  }

  /** Without an operator pair the one pair may do nearly everything (DESIGN 5, Roles). */
  get hasOperator(): boolean {
    return this.#operator !== undefined;
  }

  async #delay(): Promise<void> {
    this.#failures += 1;
    if (this.#waiting >= WAITING_MAX) return;
    this.#waiting += 1;
    const delayMs = Math.min(SLOWDOWN_MIN_MS * 2 ** (this.#failures - 1), SLOWDOWN_MAX_MS);
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
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
