import type { IpcClient } from "../shared/ipc/client.ts";
import {
  ALARMS_PAGE_MAX,
  type ResponseOf,
  type supervisorMessages,
} from "../shared/ipc/contract.ts";
import type { Logger } from "../shared/logger.ts";
import type { Clock, Timer } from "../shared/time.ts";

const POLL_MS = 5_000;
const ANSWER_LIMIT_MS = 5_000;

export type SupervisorAlarms = ResponseOf<typeof supervisorMessages, "alarms">;

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
  readonly #client: Pick<IpcClient<typeof supervisorMessages>, "call">;
  readonly #clock: Clock;
  readonly #log: Logger;
  #timer: Timer | undefined;
  #round: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(
    taker: AlarmTaker,
    client: Pick<IpcClient<typeof supervisorMessages>, "call">,
    clock: Clock,
    log: Logger,
  ) {
    this.#taker = taker;
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
  }

  /** Asks at once and then every few seconds. */
  start(): void {
    this.#round = this.#ask().finally(() => {
      if (this.#closed) return;
      this.#timer = this.#clock.startTimer("supervisor alarms", POLL_MS, () => this.start());
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.clear();
    await this.#round;
  }

  async #ask(): Promise<void> {
    try {
      let taken = ALARMS_PAGE_MAX;
      while (taken === ALARMS_PAGE_MAX && !this.#closed) {
        const { origin, id = 0 } = this.#taker.last ?? {};
        const request = { ...(origin ? { origin } : {}), after: id, limit: ALARMS_PAGE_MAX };
        const answer = await this.#client.call("alarms", request, ANSWER_LIMIT_MS);
        this.#taker.take(answer);
        taken = answer.alarms.length;
      }
    } catch (error) {
      // Down, or of a version that keeps its alarms in its log only: asked again.
      this.#log.debug({ err: error }, "the supervisor did not tell its alarms");
    }
  }
}
