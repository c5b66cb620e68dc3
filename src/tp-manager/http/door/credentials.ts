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

/** A longer header is decoded each time. */
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
   * The role of an `Authorization` header that is, byte by byte, what every program makes of a
   * right pair. Undefined says nothing: such a header has to be decoded.
   */
  roleOfHeader(header = ""): Role | undefined {
    if (header.length > HEADER_BYTES_MAX) return undefined;
    writeHeader(this.#given, header);
    const kiosk = timingSafeEqual(this.#given, this.#kioskHeader);
    const operator = timingSafeEqual(this.#given, this.#operatorHeader);
    if (operator) return "operator";
    return kiosk ? "kiosk" : undefined;
  }

  /** The role of a pair; undefined for a wrong one. */
  roleOf(login: string, password: string): Role | undefined {
    const given = digestsOf({ login, password });
    // Both are always compared, so that the time says nothing about which one was near.
    const kiosk = samePair(given, this.#kiosk);
    const operator = this.#operator ? samePair(given, this.#operator) : false;
    if (operator) return "operator";
    return kiosk ? "kiosk" : undefined;
  }
}

/** Equals no header that was given: no length is as great. */
const unknownHeader = Buffer.alloc(LENGTH_BYTES + HEADER_BYTES_MAX, 0xff);

/** Filled up, so that a comparison takes as long whatever the length of the pair. */
function headerOf({ login, password }: Pair): Buffer {
  const header = `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`;
  // A colon in the login, or a control character, makes another pair of it, or none.
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
