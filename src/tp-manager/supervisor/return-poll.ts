import type { Logger } from "../../shared/logger.ts";
import { Rounds } from "../../shared/rounds.ts";
import type { Clock } from "../../shared/time.ts";
import type { ReturnStore } from "../attempts/return-store.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

export const RETURN_POLL_MS = 5_000;
const ASKED_MAX = 100;

/**
 * Learns of money that went back without us: a refund that the merchant made in the gateway's own
 * pages, a chargeback. Such an order is finished (docs/design.md 3.8): it is told as reversed and
 * its repetition charges nothing.
 */
export class ReturnPoll {
  readonly #store: Pick<ReturnStore, "returnsSeen" | "noteReturns">;
  readonly #link: SupervisorLink;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #rounds: Rounds;

  constructor(
    store: Pick<ReturnStore, "returnsSeen" | "noteReturns">,
    link: SupervisorLink,
    clock: Clock,
    log: Logger,
  ) {
    this.#store = store;
    this.#link = link;
    this.#clock = clock;
    this.#log = log;
    this.#rounds = new Rounds(clock, "return poll", RETURN_POLL_MS);
  }

  start(): void {
    this.#rounds.later(() => this.ask());
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  /** Reads everything that is new. A supervisor that does not answer is asked again later. */
  async ask(): Promise<void> {
    try {
      for (let more = true; more && !this.#rounds.closed; ) {
        const after = this.#store.returnsSeen();
        const answer = await this.#link.call("gateway-returns", { after, limit: ASKED_MAX });
        more = answer.more;
        const { returns, uncertain = [] } = answer;
        const some = uncertain.map((transactionId) => ({ transactionId, returnedMinor: 0 }));
        if (answer.last === after && returns.length + some.length === 0) return;
        this.#store.noteReturns([...returns, ...some], answer.last, this.#clock.now());
        for (const one of returns) this.#log.info(one, "money went back at the gateway");
      }
    } catch (error) {
      this.#log.debug({ err: error }, "the supervisor did not tell of returned money");
    }
  }
}
