import {
  type AttemptEvent,
  eventOf,
  fold,
} from "../../../src/tp-manager/attempts/attempt-event.ts";
import {
  type Attempt,
  type AttemptState,
  begun,
  isNotCharged,
} from "../../../src/tp-manager/attempts/payment.ts";
import type { AttemptRows } from "../../../src/tp-manager/journal/attempt-rows.ts";

type Store = Pick<AttemptRows, "events">;

/** The events of an attempt as the journal keeps them, each written by this version. */
export function storedEvents(attempts: Store, attempt: Attempt): AttemptEvent[] {
  const { transactionId, request, state } = attempt;
  const at = { request, final: state, handedOff: () => null };
  return attempts.events(transactionId).map((step) => {
    const event = eventOf(step, at);
    const isOld = step.input === undefined && event?.input !== "note";
    if (!event || isOld) throw new Error(`${step.kind} was not written by this version`);
    return event;
  });
}

/** The fold of these events, as the journal would keep it. */
export function foldedState(attempts: Store, attempt: Attempt): AttemptState {
  const { baseline, state } = attempt;
  const first = baseline ? begun : isNotCharged(state) ? state : null;
  return JSON.parse(JSON.stringify(fold(storedEvents(attempts, attempt), first)));
}
