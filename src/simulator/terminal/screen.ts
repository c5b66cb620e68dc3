import { number as currencyOfNumber } from "currency-codes";
import type { Clock } from "../../shared/time.ts";
import type { Language } from "./options.ts";
import texts from "./texts.json" with { type: "json" };

interface DisplayAmount {
  readonly amountMinor: number;
  /** ISO 4217 numeric, with or without a leading zero. */
  readonly currency: string;
}

/** Returns an amount as people read it, `12.00 EUR`. */
export function amountText({ amountMinor, currency }: DisplayAmount): string {
  const known = currencyOfNumber(currency.slice(-3));
  const digits = known?.digits ?? 2;
  return `${(amountMinor / 10 ** digits).toFixed(digits)} ${known?.code ?? ""}`.trimEnd();
}

/** Returns the letter code of a currency; undefined: no currency has this number. */
export function currencyCode(currency: string): string | undefined {
  return currencyOfNumber(currency.slice(-3))?.code;
}

/** A stage of a payment that the display shows; each stage has a text in each language. */
export type Stage = keyof typeof texts.screen;

/** The stages with which a payment ends; the display keeps them for a while. */
const ends = new Set<Stage>(["approved", "declined", "cancelled", "timed-out", "not-for-payments"]);
const END_DISPLAY_MS = 5_000;

export class Screen {
  readonly #clock: Clock;
  #stage: Stage = "idle";
  #amount: DisplayAmount | null = null;
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Shows a stage; the amount stays on the display until the stage is `idle`. */
  show(stage: Stage, amount?: DisplayAmount): void {
    this.#stage = stage;
    if (amount) this.#amount = amount;
    if (stage === "idle") this.#amount = null;
    this.#sinceMs = this.#clock.monotonicMs();
  }

  /** Clears the display at the end of a command; the final stage of a payment stays for a while. */
  rest(): void {
    if (!ends.has(this.#stage)) this.show("idle");
  }

  /** Returns what the display shows, in the display's language or, for the page, in all of them. */
  read(language: Language | null) {
    const over = this.#clock.monotonicMs() - this.#sinceMs >= END_DISPLAY_MS;
    if (ends.has(this.#stage) && over) this.show("idle");
    return {
      stage: this.#stage,
      text: texts.screen[this.#stage][language ?? "en"],
      texts: texts.screen[this.#stage],
      language,
      amount: this.#amount && amountText(this.#amount),
    };
  }
}
