import type { CardAction } from "./cardholder.ts";
import type { TerminalParts } from "./terminal-parts.ts";

/** The one PIN that no simulated card has. */
const WRONG = "0000";

/** A PIN was entered, or the reason why none was. */
export type Entered = "right" | "wrong" | "cancelled" | "time-out";

/** The PIN of a presented card: how often it is asked for, and how the first try went. */
export interface CardPin {
  readonly pad: { enter(waitMs: number, signal: AbortSignal): Promise<Entered> };
  readonly first: Entered;
}

/** A card's PIN as often as the terminal asks for it. */
export class PinPad {
  readonly #parts: TerminalParts;
  readonly #entry: CardAction["pin"];
  #asked = 0;

  constructor(parts: TerminalParts, { pin }: CardAction) {
    this.#parts = parts;
    this.#entry = pin;
  }

  /** The customer's next try, by hand or as the card was presented. */
  async enter(waitMs: number, signal: AbortSignal): Promise<Entered> {
    this.#asked += 1;
    if (this.#entry === "wrong-first") return this.#asked === 1 ? "wrong" : "right";
    if (this.#entry !== "asked") return "right";
    this.#parts.screen.show("pin");
    for (;;) {
      const act = await this.#parts.customerActs({ wanted: "digits", waitMs, signal });
      if (act.action === "time-out") return "time-out";
      if (act.action === "digits") return act.digits === WRONG ? "wrong" : "right";
      // The green key without digits is no PIN, and no end either.
      if (act.action !== "key" || act.key === "stop") return "cancelled";
    }
  }
}

/** After so many wrong ones the card is refused. */
export const PIN_TRIES_MAX = 3;
/** ISO 8583: PIN tried too often. */
export const PIN_TRIES_OVER = 75;
