import { createHash, timingSafeEqual } from "node:crypto";

export type Role = "kiosk" | "operator";

export interface Pair {
  readonly login: string;
  readonly password: string;
}

/** Checks Basic credentials in constant time. */
export class Credentials {
  readonly #kiosk: Pair;
  readonly #operator: Pair | undefined;

  constructor(kiosk: Pair, operator: Pair | undefined) {
    this.#kiosk = kiosk;
    this.#operator = operator;
  }

  /** The role of a pair; undefined for a wrong one. */
  roleOf(login: string, password: string): Role | undefined {
    // Both are always compared, so that the time tells nothing about which one was near.
    const kiosk = samePair({ login, password }, this.#kiosk);
    const operator = this.#operator ? samePair({ login, password }, this.#operator) : false;
    if (operator) return "operator";
    return kiosk ? "kiosk" : undefined;
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
