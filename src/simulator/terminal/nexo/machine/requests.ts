import type { NexoMessage } from "../../../../nexo/index.ts";
import type { Clock } from "../../../../shared/time.ts";

/** So many requests, the newest, are shown. */
const LISTED_MAX = 20;

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
    for (const [key, old] of this.#all) if (this.#isOver(old)) this.#all.delete(key);
    const begun: Remembered = { category, saleId, serviceId, atMs, answer: null };
    this.#all.set(keyOf(saleId, serviceId), begun);
    return begun;
  }

  find(saleId: string, serviceId: string): Remembered | undefined {
    const found = this.#all.get(keyOf(saleId, serviceId));
    return found && !this.#isOver(found) ? found : undefined;
  }

  #isOver({ atMs }: Remembered): boolean {
    return this.#clock.now() - atMs > this.#rememberedMs;
  }

  /** Forgets a request that was refused or ran out: its ids may come again. */
  drop({ saleId, serviceId }: Remembered): void {
    this.#all.delete(keyOf(saleId, serviceId));
  }

  /** The newest answered request of the category but one: what a wrong answer repeats. */
  another(than: Remembered): Remembered | undefined {
    const { category } = than;
    return [...this.#all.values()].findLast(
      (one) => one !== than && one.answer !== null && one.category === category,
    );
  }

  /** Forgets what still ran when the power failed, or everything. */
  restart(forgetsAll: boolean): void {
    for (const [key, { answer }] of this.#all) {
      if (forgetsAll || answer === null) this.#all.delete(key);
    }
  }

  get list(): readonly object[] {
    return [...this.#all.values()].slice(-LISTED_MAX).map(({ answer, ...request }) => ({
      ...request,
      isAnswered: answer !== null,
    }));
  }
}

const keyOf = (saleId: string, serviceId: string): string => `${saleId} ${serviceId}`;

export type { Remembered };
