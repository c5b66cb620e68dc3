import { maskPansInText } from "../../shared/masking/mask.ts";
import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { RefusedHandOff, RefusedRows } from "../journal/hand-offs/refused-rows.ts";
import type { HandOff } from "./hand-off.ts";

/** An operator's word about transactions that the supervisor refuses (docs/rules/17-loss.md). */
export class RefusedHandOvers {
  readonly #refused: RefusedRows;
  readonly #handOff: Pick<HandOff, "nudge">;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(refused: RefusedRows, handOff: Pick<HandOff, "nudge">, clock: Clock, log: Logger) {
    this.#refused = refused;
    this.#handOff = handOff;
    this.#clock = clock;
    this.#log = log;
  }

  /** Those behind the place `after`, oldest first. */
  list(after: number, limit: number): RefusedHandOff[] {
    return this.#refused.list(after, limit);
  }

  /** Hands it over now; also one that was dropped. false: none is refused under this id. */
  requeue(transactionId: string): boolean {
    if (!this.#refused.requeue(transactionId, this.#clock.now())) return false;
    this.#handOff.nudge();
    return true;
  }

  /** Gives the hand-over up, with a note that is kept. false: none is refused under this id. */
  drop(transactionId: string, note: string): boolean {
    const dropped = this.#refused.drop(transactionId, maskPansInText(note), this.#clock.now());
    if (!dropped) return false;
    this.#log.warn(
      { transactionId },
      "an operator dropped a hand-over that the supervisor refuses",
    );
    if (dropped === "reversal") {
      this.#log.error(
        { transactionId, alarm: "reversed-after-sending" },
        "the sale does not stand, and the supervisor was not told: it or the gateway may have it",
      );
    }
    return true;
  }
}
