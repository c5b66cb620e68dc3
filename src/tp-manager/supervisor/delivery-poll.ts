import type { Logger } from "../../shared/logger.ts";
import { Rounds } from "../../shared/rounds.ts";
import type { Clock } from "../../shared/time.ts";
import type { HandOffStore } from "../attempts/hand-off-store.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

const POLL_MS = 5_000;
/** Asked at once; older ones are asked when these are settled. */
const ASKED_MAX = 50;

/**
 * Learns what became of transactions whose kiosk has had its answer before the gateway took them,
 * so that events and lookups tell it. Costs nothing when all are settled.
 */
export class DeliveryPoll {
  readonly #store: Pick<HandOffStore, "undelivered" | "setDelivery">;
  readonly #link: SupervisorLink;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #rounds: Rounds;

  constructor(
    store: Pick<HandOffStore, "undelivered" | "setDelivery">,
    link: SupervisorLink,
    clock: Clock,
    log: Logger,
  ) {
    this.#store = store;
    this.#link = link;
    this.#clock = clock;
    this.#log = log;
    this.#rounds = new Rounds(clock, "delivery poll", POLL_MS);
  }

  start(): void {
    this.#rounds.later(() => this.#ask());
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  async #ask(): Promise<void> {
    try {
      for (const transactionId of this.#store.undelivered(ASKED_MAX)) {
        if (this.#rounds.closed) return;
        const asked = { transactionId, waitMs: 0 };
        const { state } = await this.#link.call("transaction-delivery", asked);
        if (state) this.#store.setDelivery(transactionId, state, this.#clock.now());
      }
    } catch (error) {
      this.#log.debug({ err: error }, "the supervisor did not tell the deliveries");
    }
  }
}
