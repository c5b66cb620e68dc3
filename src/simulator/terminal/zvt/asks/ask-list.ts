/**
 * Requests of the terminal to the register, each made only where tag 26 permits it
 * (docs/zvt.md 6.1, 7.4).
 */
export const askKinds = {
  menu: { control: 0x040e, description: "menu request 04 0E: which application of the card" },
  input: { control: 0x040d, description: "input request 04 0D: the mileage" },
  "blocked-list": { control: 0x06e4, description: "06 E4: is this card on the blocked list" },
  signature: { control: 0x06d0, description: "menu with image 06 D0: is the signature right" },
  "set-clock": { control: 0x0401, description: "set the register's clock 04 01" },
  "dial-up": { control: 0x06d8, description: "dial through the register 06 D8" },
} as const satisfies Record<string, { control: number; description: string }>;

export type AskKind = keyof typeof askKinds;
export const askNames = Object.keys(askKinds) as AskKind[];

/** When: in a payment, or on the occasion of a status enquiry (docs/zvt.md 6.5). */
export type AskPlace = "payment" | "status";

/** How the register took it, for `GET /state`. */
export interface Asked {
  readonly kind: AskKind;
  /** Four hexadecimal digits; "not permitted" and "silent" when there was no answer. */
  readonly answer: string;
  /** Tag 19 of the answer to a menu. */
  readonly chosen?: number;
  /** Number of characters; the text itself is not kept. */
  readonly typedCharacters?: number;
}

const ASKED_MAX = 100;

/** The requests that the terminal has yet to make, and the answers to those it made. */
export class AskList {
  readonly #always: readonly AskKind[];
  #once: { readonly kind: AskKind; readonly place: AskPlace }[] = [];
  #asked: Asked[] = [];

  /** `always`: in every payment. */
  constructor(always: readonly AskKind[]) {
    this.#always = always;
  }

  get asked(): readonly Asked[] {
    return this.#asked;
  }

  /** Once, in the next payment or status enquiry. */
  add(kind: AskKind, place: AskPlace): void {
    this.#once.push({ kind, place });
  }

  /** Those of `kinds` that are due, in their order; asked once means not again. */
  take(kinds: readonly AskKind[], place: AskPlace): readonly AskKind[] {
    return kinds.filter((kind) => {
      const at = this.#once.findIndex((entry) => entry.kind === kind && entry.place === place);
      if (at >= 0) this.#once.splice(at, 1);
      return at >= 0 || (place === "payment" && this.#always.includes(kind));
    });
  }

  note(asked: Asked): void {
    this.#asked = [...this.#asked, asked].slice(-ASKED_MAX);
  }
}
