import { hash, timingSafeEqual } from "node:crypto";

export type Role = "kiosk" | "operator";

export interface Pair {
  readonly login: string;
  readonly password: string;
}

/** Digests have one length, whatever was given. */
interface DigestPair {
  readonly login: Buffer;
  readonly password: Buffer;
}

/** Checks Basic credentials in constant time. */
export class Credentials {
  readonly #kiosk: DigestPair;
  readonly #operator: DigestPair | undefined;

  constructor(kiosk: Pair, operator: Pair | undefined) {
    this.#kiosk = digestsOf(kiosk);
    this.#operator = operator && digestsOf(operator);
  }

  /** The role of a pair; undefined for a wrong one. */
  roleOf(login: string, password: string): Role | undefined {
    const given = digestsOf({ login, password });
    // Both are always compared, so that the time tells nothing about which one was near.
    const kiosk = samePair(given, this.#kiosk);
    const operator = this.#operator ? samePair(given, this.#operator) : false;
    if (operator) return "operator";
    return kiosk ? "kiosk" : undefined;
  }
}

function samePair(given: DigestPair, expected: DigestPair): boolean {
  const login = timingSafeEqual(given.login, expected.login);
  const password = timingSafeEqual(given.password, expected.password);
  return login && password;
}

function digestsOf({ login, password }: Pair): DigestPair {
  return { login: hash("sha256", login, "buffer"), password: hash("sha256", password, "buffer") };
}
