import type { ErrorCode } from "../../shared/catalog/errors.ts";
import { type Attempt, type AttemptState, isCharged, isNotCharged } from "../attempts/payment.ts";
import { isInDoubt } from "../attempts/phase-table.ts";
import { namesOurs } from "../attempts/reference-policy.ts";
import type { Assumptions } from "./assumptions.ts";

/** Attempts that a result without a name can be about, the newest first. */
export interface Recent {
  /** Back to the last one that has had its own result, and that one. */
  readonly sent: readonly Attempt[];
  /** The terminal may still have their result for us: in doubt, or settled by a person since. */
  readonly owed: readonly Attempt[];
  /** Older ones are left out because results are told in their order. */
  readonly isCut: boolean;
}

interface Journal {
  readonly open: readonly Attempt[];
  newest(): Iterable<Attempt>;
  /** A person has settled it, and its result is known. */
  wasToldSettled(attempt: Attempt): boolean;
}

/**
 * Results are told in their order, so what was begun before the last one that had its own result
 * waits for none; where that is not taken for granted, all that is open does. `running` is left
 * out.
 */
export function recentOf(journal: Journal, holds: Assumptions, running?: Attempt): Recent {
  const isOrdered = holds.has("ordered-results");
  const sent: Attempt[] = [];
  const owed: Attempt[] = [];
  let waiting = journal.open.filter(
    ({ transactionId }) => transactionId !== running?.transactionId,
  );
  for (const attempt of journal.newest()) {
    if (attempt.transactionId === running?.transactionId) continue;
    sent.push(attempt);
    const had = hadItsResult(attempt) || journal.wasToldSettled(attempt);
    if (!had && isWaitedFor(attempt)) owed.push(attempt);
    waiting = waiting.filter(({ transactionId }) => transactionId !== attempt.transactionId);
    if (had && (isOrdered || waiting.length === 0)) return { sent, owed, isCut: isOrdered };
  }
  return { sent, owed, isCut: false };
}

/** Of results; with the terminal's code, because our own cancel and a proof have none. */
const errorsOfResults: ReadonlySet<ErrorCode> = new Set([
  "PAYMENT_DECLINED",
  "PAYMENT_CANCELLED",
  "CUSTOMER_TIMEOUT",
  "TERMINAL_FAULT",
  "CURRENCY_REFUSED",
]);

/** By the terminal's word within its payment; an operator's or a later word proves no order. */
function hadItsResult({ state }: Attempt): boolean {
  if (isInDoubt(state)) return hadInDoubt(state);
  if (isCharged(state)) return state.by === "payment" && !state.settled && !state.late;
  if (!isNotCharged(state) || state.settled) return false;
  const { error, terminalCode } = state.outcome;
  return terminalCode !== null && errorsOfResults.has(error);
}

/** By a result that came behind the one it was told with, or by its own of another amount. */
function hadInDoubt(state: AttemptState): boolean {
  const own = "last" in state ? state.last?.report : undefined;
  const isOwn = own !== undefined && own.resultCode !== null && namesOurs(own);
  return isOwn || ("told" in state && state.told !== undefined);
}

/** A person's word brings no result: what the terminal kept back is still to come. */
function isWaitedFor({ state }: Attempt): boolean {
  const doubt = "settled" in state ? state.settled?.doubt : state;
  return doubt !== undefined && isInDoubt(doubt) && !hadInDoubt(doubt);
}
