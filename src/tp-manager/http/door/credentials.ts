import { hash, timingSafeEqual } from "node:crypto";

export type Role = "kiosk" | "operator";

export interface Pair {
  readonly login: string;
  readonly password: string;
}

/** Digests of a login and a password, which have the same length for every input. */
interface DigestPair {
  readonly login: Buffer;
  readonly password: Buffer;
}

/** The longest header that is compared as it stands; a longer one is decoded each time. */
const HEADER_BYTES_MAX = 512;
const LENGTH_BYTES = 2;

/** Checks Basic credentials in constant time. */
export class Credentials {
  readonly #kiosk: DigestPair;
  readonly #operator: DigestPair | undefined;
  readonly #kioskHeader: Buffer;
  readonly #operatorHeader: Buffer;
  readonly #given = Buffer.alloc(LENGTH_BYTES + HEADER_BYTES_MAX);

  constructor(kiosk: Pair, operator: Pair | undefined) {
    this.#kiosk = digestsOf(kiosk);
    this.#operator = operator && digestsOf(operator);
    this.#kioskHeader = headerOf(kiosk);
    this.#operatorHeader = operator ? headerOf(operator) : unknownHeader;
  }

  /**
   * Returns the role of an `Authorization` header that equals, byte by byte, the usual header of a
   * right pair. Undefined: the header has to be decoded, and may still be right.
   */
  roleOfHeader(header = ""): Role | undefined {
    if (header.length > HEADER_BYTES_MAX) return undefined;
    writeHeader(this.#given, header);
    const kiosk = timingSafeEqual(this.#given, this.#kioskHeader);
    const operator = timingSafeEqual(this.#given, this.#operatorHeader);
    if (operator) return "operator";
    return kiosk ? "kiosk" : undefined;
  }

  /** Returns the role of a login and password; undefined: they are wrong. */
  roleOf(login: string, password: string): Role | undefined {
    const given = digestsOf({ login, password });
    // Both pairs are always compared, so that the time does not show which one was similar.
    const kiosk = samePair(given, this.#kiosk);
    const operator = this.#operator ? samePair(given, this.#operator) : false;
    if (operator) return "operator";
    return kiosk ? "kiosk" : undefined;
  }
}

/** A buffer that equals no given header, because no header has its length. */
const unknownHeader = Buffer.alloc(LENGTH_BYTES + HEADER_BYTES_MAX, 0xff);

/** Returns the usual header of a pair, filled up so that every comparison takes the same time. */
function headerOf({ login, password }: Pair): Buffer {
  const header = `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`;
  // A login with a colon, or a control character, is decoded to another pair or to none.
  const isPlain = !login.includes(":") && !/\p{Cc}/u.test(login + password);
  if (!isPlain || header.length > HEADER_BYTES_MAX) return unknownHeader;
  const filled = Buffer.alloc(LENGTH_BYTES + HEADER_BYTES_MAX);
  writeHeader(filled, header);
  return filled;
}

function writeHeader(into: Buffer, header: string): void {
  into.fill(0);
  into.writeUInt16LE(header.length);
  into.write(header, LENGTH_BYTES);
}

function samePair(given: DigestPair, expected: DigestPair): boolean {
  const login = timingSafeEqual(given.login, expected.login);
  const password = timingSafeEqual(given.password, expected.password);
  return login && password;
}

function digestsOf({ login, password }: Pair): DigestPair {
  return { login: hash("sha256", login, "buffer"), password: hash("sha256", password, "buffer") };
}
