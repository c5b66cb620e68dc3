import type { Clock } from "../../shared/time.ts";
import { type Terminal, TerminalUnavailable } from "../terminal/terminal.ts";

/** Nobody asks a terminal by itself, so a silence is told for so long and then forgotten. */
const SILENCE_TOLD_MS = 60_000;

/**
 * That the terminal did not answer what was asked of it last, although its line may look well
 * (docs/design.md 3.5): until anything is heard of it, for a minute at most.
 */
export class LastSilence {
  readonly #clock: Clock;
  #kept: { readonly why: TerminalUnavailable; readonly monotonicMs: number } | undefined;

  constructor({ terminal, clock }: { terminal: Pick<Terminal, "subscribe">; clock: Clock }) {
    this.#clock = clock;
    terminal.subscribe(() => {
      this.#kept = undefined;
    });
  }

  get why(): TerminalUnavailable | undefined {
    if (!this.#kept) return undefined;
    const ageMs = this.#clock.monotonicMs() - this.#kept.monotonicMs;
    return ageMs < SILENCE_TOLD_MS ? this.#kept.why : undefined;
  }

  /** Waits for an answer of the terminal, and keeps whether one came. Rejects as `asked` does. */
  async heard<T>(asked: Promise<T>): Promise<T> {
    try {
      const answer = await asked;
      this.#kept = undefined;
      return answer;
    } catch (error) {
      if (error instanceof TerminalUnavailable && isSilence(error)) {
        this.#kept = { why: error, monotonicMs: this.#clock.monotonicMs() };
      }
      throw error;
    }
  }
}

function isSilence({ reason }: TerminalUnavailable): boolean {
  return reason === "no-answer" || reason === "disconnected";
}
