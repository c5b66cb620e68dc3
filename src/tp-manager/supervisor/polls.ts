import { BrokenInvariant } from "../../shared/invariant.ts";
import { ALARMS_PAGE_MAX } from "../../shared/ipc/contract.ts";
import type { AlarmLog, Logger } from "../../shared/process/logger.ts";
import { Retrying } from "../../shared/process/retrying.ts";
import type { Clock } from "../../shared/time.ts";
import type { Attempt } from "../attempts/payment.ts";
import { alarmReturnedTwice, isReturnedTwice } from "../attempts/phase-table.ts";
import type { HandOffRows } from "../journal/hand-off-rows.ts";
import type { AlarmRows } from "../journal/operator-rows.ts";
import type { NotedAttempt, ReturnRows } from "../journal/return-rows.ts";
import type { SupervisorLink } from "./supervisor-link.ts";

const POLL_MS = 5_000;
/** The largest number of deliveries asked about in one round; older deliveries wait. */
const DELIVERIES_MAX = 50;
const RETURNS_PAGE = 100;

interface Subject {
  readonly name: string;
  /** The log text if a round fails: the supervisor is down, or too old for this message. */
  readonly failure: string;
  /** Asks the supervisor once; stops between two of several requests if the poll is closed. */
  round(isClosed: () => boolean): Promise<void>;
}

/** Asks the supervisor about one subject again and again, {@link POLL_MS} after each round. */
export class Poll extends Retrying {
  readonly #subject: Subject;
  readonly #log: Logger;

  constructor(subject: Subject, clock: Clock, log: Logger) {
    super(clock, subject.name, () => this.ask().then(() => POLL_MS));
    this.#subject = subject;
    this.#log = log;
  }

  start(): void {
    this.nudgeIn(POLL_MS);
  }

  /** Asks the supervisor once. A failure is only logged, because the poll asks again later. */
  async ask(): Promise<void> {
    try {
      await this.#subject.round(() => this.isClosed);
    } catch (error) {
      if (error instanceof BrokenInvariant) throw error;
      this.#log.debug({ err: error }, this.#subject.failure);
    }
  }
}

/**
 * Asks about transactions that the gateway did not have when their kiosk was answered, so that
 * events and lookups report their delivery later.
 */
export function deliveryPoll(store: HandOffRows, link: SupervisorLink, clock: Clock, log: Logger) {
  const round = async (isClosed: () => boolean): Promise<void> => {
    for (const transactionId of store.undelivered(DELIVERIES_MAX)) {
      if (isClosed()) return;
      const { state } = await link.call("transaction-delivery", { transactionId, waitMs: 0 });
      if (state) store.setDelivery(transactionId, state, clock.now());
    }
  };
  const failure = "the supervisor did not report the deliveries";
  return new Poll({ name: "delivery poll", failure, round }, clock, log);
}

/**
 * Asks about money that was paid back without this program: a refund in the gateway's own pages, or
 * a chargeback. The order is then answered as reversed, and a repetition of it charges nothing
 * (docs/rules/08-finished.md, docs/rules/27-both-sides.md). The arbiter gets each such attempt,
 * and again after a crash (docs/rules/07-returns.md).
 */
export function returnPoll(
  store: ReturnRows,
  link: SupervisorLink,
  clock: Clock,
  log: AlarmLog,
  arbiter?: { readonly recovery: { returned(attempt: Attempt): void } },
) {
  const alarmed = new Set<string>();
  const alarmOnce = ({ attempt }: NotedAttempt): void => {
    const { transactionId, returnedMinor } = attempt;
    const what = `${transactionId} ${returnedMinor}`;
    if (!isReturnedTwice(attempt) || alarmed.has(what)) return;
    alarmReturnedTwice(log, attempt);
    alarmed.add(what);
  };
  const round = async (isClosed: () => boolean): Promise<void> => {
    for (let more = true; more && !isClosed(); ) {
      const after = store.returnsReadTo();
      const answer = await link.call("gateway-returns", { after, limit: RETURNS_PAGE });
      more = answer.more;
      const { returns, uncertain = [] } = answer;
      const some = uncertain.map((transactionId) => ({ transactionId, returnedMinor: 0 }));
      if (answer.last === after && returns.length + some.length === 0) return;
      const noted = store.noteReturns([...returns, ...some], clock.now());
      // Alarms are raised before the page counts as read, so that a crash in between loses none.
      for (const { attempt } of noted) arbiter?.recovery.returned(attempt);
      if (answer.last !== after) noted.forEach(alarmOnce);
      store.setReturnsReadTo(answer.last);
      for (const one of returns) log.info(one, "the gateway notified that money was paid back");
    }
  };
  const failure = "the supervisor did not report returned money";
  return new Poll({ name: "return poll", failure, round }, clock, log);
}

/**
 * Stores the supervisor's alarms in the journal, for `GET /events`. Each alarm is stored once, even
 * if tp-manager or the supervisor was stopped meanwhile.
 */
export function alarmPoll(taker: AlarmRows, link: SupervisorLink, clock: Clock, log: Logger) {
  const round = async (isClosed: () => boolean): Promise<void> => {
    for (let taken = ALARMS_PAGE_MAX; taken === ALARMS_PAGE_MAX && !isClosed(); ) {
      const { origin, id = 0 } = taker.last ?? {};
      const request = { ...(origin ? { origin } : {}), after: id, limit: ALARMS_PAGE_MAX };
      const answer = await link.call("alarms", request);
      taker.take(answer);
      taken = answer.alarms.length;
    }
  };
  const failure = "the supervisor did not report its alarms";
  return new Poll({ name: "supervisor alarms", failure, round }, clock, log);
}
