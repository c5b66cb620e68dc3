import { hash, timingSafeEqual } from "node:crypto";

export type Role = "kiosk" | "operator";

export interface Pair {
  readonly login: string;
  readonly password: string;
}

/** The digests of one role's login and password, and of the header made of them. */
interface Known {
  readonly role: Role;
  readonly pair: Buffer;
  readonly header: Buffer;
}

/** Checks Basic credentials in constant time. */
export class Credentials {
  readonly #known: readonly Known[];

  constructor(kiosk: Pair, operator: Pair | undefined) {
    this.#known = [knownOf("kiosk", kiosk), ...(operator ? [knownOf("operator", operator)] : [])];
  }

  /**
   * Returns the role whose right `Authorization` header in its usual form equals this header byte
   * by byte. Undefined: the header has to be decoded, and may still be right.
   */
  roleOfHeader(header = ""): Role | undefined {
    return this.#roleOf("header", header);
  }

  /** Returns the role of a login and password; undefined: they are wrong. */
  roleOf(login: string, password: string): Role | undefined {
    return this.#roleOf("pair", JSON.stringify([login, password]));
  }

  #roleOf(kind: "pair" | "header", given: string): Role | undefined {
    const digest = hash("sha256", given, "buffer");
    let role: Role | undefined;
    // Every role is compared, so that the time taken does not show which role's login is similar.
    for (const one of this.#known) if (timingSafeEqual(one[kind], digest)) role = one.role;
    return role;
  }
}

/** Stands for the digest of a header that must always be decoded; no header has this digest. */
const noDigest = Buffer.alloc(32);

function knownOf(role: Role, { login, password }: Pair): Known {
  const header = `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`;
  // A login with a colon, or a control character, makes a header that must be decoded.
  const isPlain = !login.includes(":") && !/\p{Cc}/u.test(login + password);
  return {
    role,
    pair: hash("sha256", JSON.stringify([login, password]), "buffer"),
    header: isPlain ? hash("sha256", header, "buffer") : noDigest,
  };
}
