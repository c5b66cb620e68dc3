import type { NexoMessage } from "../../../../nexo/index.ts";
import type { Clock } from "../../../../shared/time.ts";

interface Remembered {
  readonly category: string;
  readonly saleId: string;
  readonly serviceId: string;
  readonly atMs: number;
  /** The whole answer; null: the request still runs. */
  answer: NexoMessage | null;
}

/** What the terminal remembers of the requests that it got, by their ids (docs/nexo.md 6.1). */
export class Requests {
  readonly #clock: Clock;
  readonly #rememberedMs: number;
  readonly #all = new Map<string, Remembered>();

  constructor(clock: Clock, rememberedMs: number) {
    this.#clock = clock;
    this.#rememberedMs = rememberedMs;
  }

  /** Takes a new request; undefined: its ids were used before. */
  begin(category: string, saleId: string, serviceId: string): Remembered | undefined {
    if (this.find(saleId, serviceId)) return undefined;
    const atMs = this.#clock.now();
    const begun: Remembered = { category, saleId, serviceId, atMs, answer: null };
    this.#all.set(keyOf(saleId, serviceId), begun);
    return begun;
  }

  find(saleId: string, serviceId: string): Remembered | undefined {
    const found = this.#all.get(keyOf(saleId, serviceId));
    if (found && this.#clock.now() - found.atMs <= this.#rememberedMs) return found;
    this.#all.delete(keyOf(saleId, serviceId));
    return undefined;
  }

  /** The newest answered request but one: what a wrong answer repeats. */
  another(than: Remembered): Remembered | undefined {
    return [...this.#all.values()].findLast((one) => one !== than && one.answer !== null);
  }

  /** Forgets what still ran when the power failed, or everything. */
  restart(forgetsAll: boolean): void {
    for (const [key, { answer }] of this.#all) {
      if (forgetsAll || answer === null) this.#all.delete(key);
    }
  }

  get list(): readonly object[] {
    return [...this.#all.values()].map(({ answer, ...request }) => ({
      ...request,
      isAnswered: answer !== null,
    }));
  }
}

const keyOf = (saleId: string, serviceId: string): string => `${saleId} ${serviceId}`;

export type { Remembered };
