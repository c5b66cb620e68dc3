import { ALARMS_PAGE_MAX } from "../../shared/ipc/contract.ts";
import type { Logger } from "../../shared/logger.ts";
import { Rounds } from "../../shared/rounds.ts";
import type { Clock } from "../../shared/time.ts";
import type { SupervisorAnswer, SupervisorLink } from "./supervisor-link.ts";

const POLL_MS = 5_000;

export type SupervisorAlarms = SupervisorAnswer<"alarms">;

/** What was taken is remembered with the events it became, in one transaction. */
export interface AlarmTaker {
  /** The database and the id of the last alarm taken; undefined before the first one. */
  readonly last: { readonly origin: string; readonly id: number } | undefined;
  take(alarms: SupervisorAlarms): void;
}

/**
 * Brings the supervisor's alarms into the journal, where `GET /events` tells and repeats them: each
 * once, whichever of the two programs was stopped meanwhile.
 */
export class AlarmPoll {
  readonly #taker: AlarmTaker;
  readonly #link: SupervisorLink;
  readonly #log: Logger;
  readonly #rounds: Rounds;

  constructor(taker: AlarmTaker, link: SupervisorLink, clock: Clock, log: Logger) {
    this.#taker = taker;
    this.#link = link;
    this.#log = log;
    this.#rounds = new Rounds(clock, "supervisor alarms", POLL_MS);
  }

  /** Asks at once and then every few seconds. */
  start(): void {
    this.#rounds.begin(() => this.#ask());
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  async #ask(): Promise<void> {
    try {
      let taken = ALARMS_PAGE_MAX;
      while (taken === ALARMS_PAGE_MAX && !this.#rounds.closed) {
        const { origin, id = 0 } = this.#taker.last ?? {};
        const request = { ...(origin ? { origin } : {}), after: id, limit: ALARMS_PAGE_MAX };
        const answer = await this.#link.call("alarms", request);
        this.#taker.take(answer);
        taken = answer.alarms.length;
      }
    } catch (error) {
      // Down, or of a version that keeps its alarms in its log only: asked again.
      this.#log.debug({ err: error }, "the supervisor did not tell its alarms");
    }
  }
}
