import { unlessAborted } from "../../shared/time.ts";
import type { CardName } from "./bank/cards.ts";
import type { OutcomeRule } from "./bank/ledger.ts";

/** One action of the simulated customer at the terminal. */
export type CustomerAction =
  | CardAction
  /** A card that is not for payments. */
  | { readonly action: "other-card" }
  | { readonly action: "key"; readonly key: KeyName }
  | { readonly action: "digits"; readonly digits: string }
  | { readonly action: "cancel" }
  | { readonly action: "time-out" };

export interface CardAction {
  readonly action: "insert";
  readonly card?: CardName;
  /** The bank's answer for this card; missing: as the switches say. */
  readonly outcome?: OutcomeRule;
  /** How the PIN is entered; missing: the card is accepted without one. */
  readonly pin?: PinEntry;
}

/** `wrong-first`: wrong once, then right; `asked`: entered on the terminal's keys. */
type PinEntry = "right" | "wrong-first" | "asked";

export const keys = [
  "ok",
  "correct",
  "stop",
  "function",
  "up",
  "down",
  "f1",
  "f2",
  "f3",
  "f4",
] as const;
export type KeyName = (typeof keys)[number];

/** The action that the terminal waits for; a customer may leave or do nothing at any time. */
export type Wanted = "card" | "key" | "key-or-card" | "digits";

const fitting: Readonly<Record<Wanted, readonly CustomerAction["action"][]>> = {
  card: ["insert", "other-card", "cancel", "time-out"],
  key: ["key", "cancel", "time-out"],
  "key-or-card": ["insert", "key", "cancel", "time-out"],
  digits: ["digits", "key", "cancel", "time-out"],
};

/** The customer, for whom the terminal waits; the control API can play one. */
export class Cardholder {
  /** Who plays the customer; "manual": nothing happens until the control API says so. */
  plays: "auto" | "manual";
  #waiting: { readonly wanted: Wanted; act(action: CustomerAction): void } | undefined;

  constructor(plays: "auto" | "manual") {
    this.plays = plays;
  }

  get wanted(): Wanted | null {
    return this.#waiting?.wanted ?? null;
  }

  /** Lets the customer act. Returns false if the terminal is not waiting for that action. */
  act(action: CustomerAction): boolean {
    const waiting = this.#waiting;
    if (!waiting || !fitting[waiting.wanted].includes(action.action)) return false;
    this.#waiting = undefined;
    waiting.act(action);
    return true;
  }

  /** Resolves with what the customer does. Rejects when `signal` aborts. */
  async wait(wanted: Wanted, signal: AbortSignal): Promise<CustomerAction> {
    const { promise, resolve: act } = Promise.withResolvers<CustomerAction>();
    const waiting = { wanted, act };
    if (!signal.aborted) this.#waiting = waiting;
    try {
      return await unlessAborted(promise, signal);
    } finally {
      if (this.#waiting === waiting) this.#waiting = undefined;
    }
  }
}
