import { z } from "zod";
import { unlessAborted } from "../../shared/time.ts";
import { type CardName, cardNames } from "./bank/cards.ts";
import type { OutcomeRule } from "./bank/ledger.ts";

export interface CardAction {
  readonly action: "insert";
  readonly card?: CardName;
  /** The bank's answer for this card; missing: the answer that the simulator's options set. */
  readonly outcome?: OutcomeRule;
  /** `wrong-first`: first a wrong PIN, then the right PIN; `asked`: typed in; missing: no PIN. */
  readonly pin?: "wrong-first" | "asked";
}

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

/** The customer's actions in `POST /customer`; `other-card` is a card that cannot pay. */
export const customerActions = z.discriminatedUnion("action", [
  z.strictObject({ action: z.literal("insert"), card: z.enum(cardNames).optional() }),
  z.strictObject({ action: z.literal("other-card") }),
  z.strictObject({ action: z.literal("key"), key: z.enum(keys) }),
  z.strictObject({ action: z.literal("digits"), digits: z.string().regex(/^\d{1,40}$/) }),
  z.strictObject({ action: z.literal("cancel") }),
  z.strictObject({ action: z.literal("time-out") }),
]);
type GivenAction = z.infer<typeof customerActions>;

export type CustomerAction = CardAction | Exclude<GivenAction, { action: "insert" }>;

/** The customer's action that the terminal waits for; cancelling or no action is also possible. */
export type Wanted = "card" | "key" | "key-or-card" | "digits";

const fitting: Readonly<Record<Wanted, readonly CustomerAction["action"][]>> = {
  card: ["insert", "other-card", "cancel", "time-out"],
  key: ["key", "cancel", "time-out"],
  "key-or-card": ["insert", "key", "cancel", "time-out"],
  digits: ["digits", "key", "cancel", "time-out"],
};

export class Cardholder {
  /** `manual`: the control API decides what the customer does; `auto`: the simulator does. */
  plays: "auto" | "manual";
  #waiting: { readonly wanted: Wanted; act(action: CustomerAction): void } | undefined;

  constructor(plays: "auto" | "manual") {
    this.plays = plays;
  }

  get wanted(): Wanted | null {
    return this.#waiting?.wanted ?? null;
  }

  /** Makes the customer carry out `action`. Returns false if the terminal does not wait for it. */
  act(action: CustomerAction): boolean {
    const waiting = this.#waiting;
    if (!waiting || !fitting[waiting.wanted].includes(action.action)) return false;
    this.#waiting = undefined;
    waiting.act(action);
    return true;
  }

  /** Resolves with the customer's action. Rejects when `signal` aborts. */
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
